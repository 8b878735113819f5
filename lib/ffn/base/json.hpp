// JSON values and their text. nlohmann's parser and writer are compiled in json.cpp only: a file that uses them itself
// takes one to four seconds longer to compile, one that includes <nlohmann/json.hpp> two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ffn {

using Json = nlohmann::ordered_json;

/// Nesting that is read. A deep tree would exhaust the stack when it is copied or destroyed; ours have 6 levels.
constexpr std::size_t kMaxJsonDepth = 64;
/// is_discarded() if the text is no JSON, holds a NUL byte, or is nested deeper.
Json parse_json(const std::string& text);

/// On one line, or on several with `indent` spaces a level. Throws nlohmann's type_error for a string that is not UTF-8.
std::string dump_json(const Json& json, int indent = -1);
/// The same, with U+FFFD for bytes that are not UTF-8.
std::string dump_json_lossy(const Json& json, int indent = -1);

/// A value within a struct whose header does without <nlohmann/json.hpp>.
class JsonValue {
 public:
  JsonValue();                   ///< null
  JsonValue(const Json& value);  // NOLINT(google-explicit-constructor): it is one
  JsonValue(const JsonValue& other);
  JsonValue(JsonValue&& other) noexcept;
  JsonValue& operator=(const JsonValue& other);
  JsonValue& operator=(JsonValue&& other) noexcept;
  ~JsonValue();

  static JsonValue object();
  static JsonValue array();
  static JsonValue number(std::int64_t x);

  Json& operator*() { return *value_; }
  const Json& operator*() const { return *value_; }
  Json* operator->() { return value_.get(); }
  const Json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<Json> value_;
};

}  // namespace ffn
