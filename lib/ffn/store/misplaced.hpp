// Whether a run lies where it belongs: its directory is named after its variant and its seed, and what was trained there is what the
// study trains.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ffn/store/study_file.hpp"

namespace ffn {

/// What a study trains in each of its places. Threads may ask at once.
class StudyOrder {
 public:
  explicit StudyOrder(StudyFile study);
  ~StudyOrder();
  StudyOrder(StudyOrder&&) noexcept;

  bool has_texts() const;                                 ///< whether it says of texts which they are: then the runs' identities are needed
  std::string text_of(const std::string& variant) const;  ///< SHA-256 of the text that a variant's runs learn; empty where it does not say
  /// "is a run of activation=gelu" or "is a run of another config (train.steps: 500 → 1000)" for a run of that config in this variant's
  /// directory; empty where it belongs there, and where the study does not tell (an older version may have written it). What makes two runs
  /// the same is what `config_identity` says; where each seed was tuned for itself, that of its seed.
  /// `identity`, the run's own, tells whether it learned the text that the study says; older studies do not say it.
  std::string stranger(const std::string& variant, const Json& config, const std::string& identity) const;

  /// The config of a run that belongs among a variant's, its width said as the study says it: d_ff 32 may have been trained as expansion 4.
  Json in_its_words(const std::string& variant, Json config) const;

 private:
  struct Expected;
  std::unique_ptr<Expected> expected_;
};

/// What `StudyOrder` says of a run, or "is the run of seed 3"; empty for one that lies where it belongs, and where nothing says where that
/// is.
std::string misplaced(const std::filesystem::path& run, const Json& config, const std::string& identity, const StudyOrder* order);

/// The same of a run on disk, the study being what the study.json two levels above says where none is given.
std::string misplaced(const std::filesystem::path& run, const StudyOrder* order = nullptr);

}  // namespace ffn
