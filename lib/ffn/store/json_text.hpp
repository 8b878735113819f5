// How this module's JSON files write numbers and how they are read back with clear errors.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "ffn/base/json.hpp"
#include "ffn/store/run_record.hpp"

namespace ffn::store {

/// A name from a file that may be damaged: quoted, of bounded length, without raw bytes.
std::string shown(const std::string& name);

/// JSON knows no NaN and no infinity: those become "nan", "inf", "-inf". A finite number keeps every bit: it is written
/// with the fewest digits that read back as the same double.
Json number_json(double value);

/// The inverse. Throws nlohmann's type_error for anything else.
double number_from(const Json& value);

/// A whole number within its bounds, and no 1.5. Throws nlohmann's exceptions.
std::int64_t integer_from(const Json& value, std::int64_t low, std::int64_t high);

/// Bounds of what is read back: steps, tokens, parameters; exact as a double, and sums of a few do not overflow.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;
inline std::int64_t count_from(const Json& value, std::int64_t high = kLargestCount) { return integer_from(value, 0, high); }

/// The largest value of a metric: a mean of squares of many does not overflow with it.
inline constexpr double kLargestValue = 1e100;
/// As it is recorded: beyond the largest it is infinite, as the perplexity of a loss of 300.
double value_of_metric(double x);
/// As it was recorded. Throws nlohmann's exceptions.
double value_from(const Json& value);

/// Seconds: finite, not negative. Throws nlohmann's exceptions.
double seconds_from(const Json& value);

/// A file's size and checksum, as another file keeps them.
Json facts_json(const FileFacts& facts);
FileFacts facts_from(const Json& json);

/// Pretty-printed with a newline at the end, and a last key "checksum": of the object without it, on one line. Spaces may be changed
/// without being noticed, no value may. Bytes that are not UTF-8 (a path, an argument) become U+FFFD.
std::string sealed_text(const Json& json);

/// Reads one of our JSON files; `json` is what parsed. Throws VersionError for another schema_version, and DataError naming the file for
/// text that is no JSON object, a checksum that is another or (where `sealed`) missing, and whatever nlohmann throws inside `read`.
void read_json_text(const std::string& text, const std::string& source, const std::function<void(const Json& json)>& read,
                    bool sealed = true);

}  // namespace ffn::store

namespace ffn {

/// Dotted key → value as text.
std::map<std::string, std::string> flat_keys(const Json& config);

}  // namespace ffn
