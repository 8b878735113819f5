// The record of looks at a table of runs: what was asked of which rows. Looking again when rows have come, changed or gone, or asking
// something else of the same rows, makes more errors than one answer says.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ffn/base/descriptor.hpp"
#include "ffn/base/json.hpp"

namespace ffn {

inline constexpr const char* kLooksEnd = ".looks.json";

struct DeclaredDesign {
  std::size_t maximum = 0, comparisons = 0;
  std::vector<std::int64_t> seeds = {};  ///< in the order in which they are analysed
};

class Looks {
 public:
  /// Reads the record, if there is one; throws DataError where it is damaged. Another process that looks waits until this one is gone.
  explicit Looks(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::optional<DeclaredDesign> design() const;
  /// Before any look; a design that stands is kept, and another one refused with a UsageError.
  void declare(const DeclaredDesign& design);

  /// Keeps claims (expect.hpp) that it lacks, dated; those that come after a look are marked "after_results". Returns all.
  JsonValue claim(const JsonValue& claims);

  /// The reference of the first look, "" before it: an export changes the order of its rows, and with it the first variant.
  std::string reference() const;
  /// Fresh seeds follow those that were seen, by size. Returns all, in the order in which they are analysed.
  std::vector<std::int64_t> order(const std::set<std::int64_t>& seeds);

  /// Notes this look, and says why its answer is suggestive; "" if it is sure. The same look again has the same answer. `rows`: a text
  /// each, whatever their order.
  std::string look(const JsonValue& question, const std::vector<std::string>& rows, std::size_t comparisons);

  void write() const;

 private:
  std::filesystem::path path_;
  Descriptor directory_;
  JsonValue record_;
};

}  // namespace ffn
