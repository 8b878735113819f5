// Whether a run lies where it belongs: its directory is named after its variant and its seed, and what was trained there is what the
// study trains.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ffn/record/study_file.hpp"

namespace ffn {

/// What a study trains in each of its places. Threads may ask at once.
class StudyOrder {
 public:
  explicit StudyOrder(StudyFile study);
  ~StudyOrder();
  StudyOrder(StudyOrder&&) noexcept;

  /// "is a run of activation=gelu" or "is a run of another config (train.steps: 500 → 1000)" for a run of that config in this variant's
  /// directory; empty where it belongs there, and where the study's document does not tell (another version may have written it). Not
  /// compared are the seed, keys that make no other run, and tuned keys that each seed has its own value of.
  std::string stranger(const std::string& variant, const Json& config) const;

 private:
  struct Expected;
  std::unique_ptr<Expected> expected_;
};

/// What `StudyOrder` says of a run, or "is the run of seed 3"; empty for one that lies where it belongs, and where nothing says where that is.
std::string misplaced(const std::filesystem::path& run, const Json& config, const StudyOrder* order);

/// The same of a run on disk, the study being what the study.json two levels above says.
std::string misplaced(const std::filesystem::path& run);

}  // namespace ffn
