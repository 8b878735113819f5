// study.json: which runs belong to a study, in which order, and how they are compared. Whoever looks at a study asks this file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/config/study_config.hpp"
#include "ffn/store/looks.hpp"

namespace ffn {

/// config_identity() of a variant's runs: of all, or of each seed's where each was tuned for itself.
struct RunConfigs {
  std::string all;
  std::map<std::int64_t, std::string> of_seed;
};

struct StudyFile {
  struct Variant {
    std::string name;                     ///< of its directory
    std::vector<Assignment> assignments;  ///< in the order of the axes
  };
  std::string name;
  std::vector<std::int64_t> seeds;
  std::vector<Variant> variants;
  CompareConfig compare;                       ///< with the key that is compared, where the study has one
  std::optional<TuningResult> tuned;           ///< what its variants were tuned to
  JsonValue document;                          ///< as read, overrides applied
  std::optional<SequentialRecord> sequential;  ///< of a study that adds seeds until settled
  std::map<std::string, std::string> texts;    ///< SHA-256 of the text that a variant's runs learn, by its name; none in older files
  std::map<std::string, RunConfigs> configs;   ///< by a variant's name; none in older files
  StudyHistory history;
  std::string lost;  ///< what is wrong with study.json, where its copy was read in its place; empty if nothing is

  /// Directories of its runs, seed by seed as they are planned.
  std::vector<std::filesystem::path> run_directories(const std::filesystem::path& study) const;
};

/// How a study's variants are compared: as its config says; by its first axis where it does not.
CompareConfig comparison_of(const Study& study);

std::filesystem::path study_file_path(const std::filesystem::path& study);
/// Its copy, written with it and read where it is missing or damaged: looks that were taken are not known from anything else.
std::filesystem::path study_copy_path(const std::filesystem::path& study);
/// Whether there is one of the two.
bool has_study_file(const std::filesystem::path& study);

/// Where its comparison is written.
std::filesystem::path comparison_path(const std::filesystem::path& study);

/// What stands in it, but for its history. `texts`: as in StudyFile.
Json study_json(const Study& study, const std::map<std::string, std::string>& texts);
/// Its text, with a checksum.
std::string study_text(const Json& study);

/// Both.
void write_study_file(const std::filesystem::path& study, const std::string& text);

/// What to do where both are lost.
constexpr const char* kLostStudyRemedy =
    "put study.json back from where you keep a copy, or start the study's command again: where the number of seeds is fixed, it writes the file anew";

/// What stands in the file or its copy, without checksum; `lost` as in StudyFile. Throws DataError naming the file if both are damaged.
Json read_study_json(const std::filesystem::path& study, std::string* lost = nullptr);

/// What is wrong with the copy while the file itself is whole; empty if nothing is. Version 0.1 wrote none.
std::string study_copy_damage(const std::filesystem::path& study);

/// Nothing if there is neither. Throws DataError naming the file if it is damaged, and so is the copy.
std::optional<StudyFile> read_study_file(const std::filesystem::path& study);

}  // namespace ffn
