// study.json: which runs belong to a study, in which order, and how they are compared. All that look at a study read this file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/base/descriptor.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/config/study_config.hpp"

namespace ffn {

/// Keys of model.ffn that say how wide it is.
inline constexpr const char* kWidthKeys[] = {"d_ff", "expansion", "match", "match_tolerance", "match_multiple_of"};

struct StudyFile {
  struct Variant {
    std::string name;                     ///< of its directory
    std::string label;                    ///< what people call it; may be empty
    std::vector<Assignment> assignments;  ///< in the order of the axes
    JsonValue width;                      ///< keys of model.ffn that say it: d_ff 32 and expansion 4 of 8 are one run
    std::vector<std::string> identities;  ///< of its runs, one for each seed
  };
  std::string name;
  std::vector<std::int64_t> seeds;
  std::vector<Variant> variants;
  CompareConfig compare;                       ///< with the key that is compared, where the study has one
  std::optional<TuningResult> tuned;           ///< what its variants were tuned to
  JsonValue document;                          ///< as read, overrides applied
  std::optional<SequentialRecord> sequential;  ///< of a sequential design
  std::map<std::string, std::string> keys;     ///< variant_keys()
  JsonValue question;                          ///< declared_question()
  std::string declaration;                     ///< a hash of the question and its runs
  std::optional<JsonValue> claims;             ///< `expect` as it stood before the first run, dated; nothing without any

  /// Directories of its runs, seed by seed as they are planned: run i is variant i modulo their number, of seed i divided by it.
  std::vector<std::filesystem::path> run_directories(const std::filesystem::path& study) const;
};

/// How a study's variants are compared: as its config says; by its first axis where it does not.
CompareConfig comparison_of(const Study& study);

std::filesystem::path study_file_path(const std::filesystem::path& study);
/// Whether anything is there.
bool has_study_file(const std::filesystem::path& study);

/// The file that its comparison is written to.
std::filesystem::path comparison_path(const std::filesystem::path& study);

/// Files beside its runs, each kind with what tells ours from a person's own: they are replaced, and `rm` takes them.
inline const FileKind kComparisonFile = {"comparison", "\"schema_version\""};
inline const FileKind kRunsTable = {"table", "run,variant,seed,state,", FileKind::Place::beginning, "name another directory with -o"};
inline const FileKind kAnswerTable = {"table", ",metric,runs,done,diverged,failed,", FileKind::Place::anywhere,
                                      "name another directory with -o"};
/// Near the beginning of every page, before the version.
inline constexpr const char* kPageMark = "name=\"generator\" content=\"ffn-train";
inline constexpr const char* kSlurmDirectory = "slurm";

/// Its content, without its claims. `identities`: of its runs, seed by seed as they are planned.
Json study_json(const Study& study, const std::vector<std::string>& identities);

/// Held while a file of this directory is read and written again; does without where the file system has no locks.
Descriptor wait_for_directory(const std::filesystem::path& directory);

/// Replaces it, with a checksum.
void write_study_file(const std::filesystem::path& study, const Json& content);

/// The remedy where it is lost.
constexpr const char* kLostStudyRemedy =
    "put study.json back from a copy of yours, or start the study's command again, which writes it anew";

/// Its content, without checksum. Throws DataError naming the file if it is missing or damaged.
Json read_study_json(const std::filesystem::path& study);

/// Nothing if there is none. Throws DataError naming the file if it is damaged.
std::optional<StudyFile> read_study_file(const std::filesystem::path& study);

}  // namespace ffn
