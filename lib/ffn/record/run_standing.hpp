// How a run stands on disk, seen from who wants to train it, and how its directory is made ready. What is damaged is said and
// steps aside; what is not ours is never touched. Depends on run_directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ffn/record/run_directory.hpp"

namespace ffn {

enum class Standing {
  absent,      ///< nothing there, or an empty directory
  foreign,     ///< something that is no run of ours
  unreadable,  ///< something that cannot be read now: nothing is known of it
  another,     ///< a run of another config, or computed by another engine than was asked for
  begun,       ///< not over; goes on from its checkpoint if it has one
  failed,      ///< ended in an error; goes on likewise
  finished,    ///< done or diverged
};

struct RunLook {
  Standing standing = Standing::absent;
  std::string about;                  ///< what is foreign, another's or damaged, and how; empty if all is as it was written
  std::vector<std::string> damage;    ///< of a finished run: `about`, one file each
  std::vector<std::string> differs;   ///< of another run: the keys, "train.steps: 1000 → 500"
  bool mendable = false;              ///< what is damaged of a finished run can be written again from what is intact
  std::optional<RunSummary> summary;  ///< of a run that finished, if it can be read

  /// Finished, and nothing is wrong with it.
  bool is_whole() const { return standing == Standing::finished && about.empty(); }
};

/// Reads the run's small files and, of a finished run, compares all that its summary vouches for. A checkpoint is not opened.
RunLook look_at(const RunDirectory& directory, const RunConfig& config, const std::string& identity);

/// What differs from what a summary vouches for, one line each: "metrics.jsonl: 120 bytes instead of 4096". `except` is not
/// looked at.
std::vector<std::string> file_differences(const RunDirectory& directory, const RunSummary& summary, const std::string& except = {});

/// For whoever uses what was trained: throws DataError where config or weights are not those that the run's summary vouches for.
void require_as_trained(const RunDirectory& directory);

/// For whoever holds the run's claim and is going to train it: where it can go on, or nothing if it begins. Moves aside what
/// is damaged, with a line in the log. Throws DataError for a directory that is foreign or cannot be read, UsageError for another
/// run's: results step aside on request only.
std::optional<StoredCheckpoint> make_ready(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                           const RunLook& look);

/// What the ways out are where another run's results stand in the place of the one that was asked for.
extern const char* const kOtherResultsHint;

/// The error for another run's directory (Standing::another): what differs, and the ways out. `more` are the runs beside it that
/// stand likewise.
UsageError refusal_of_another(const RunDirectory& directory, const RunLook& look, std::size_t more = 0);

/// Writes again what is damaged of a mendable run.
void mend(const RunDirectory& directory, const RunConfig& config, const RunLook& look);

/// What is wrong with a run that nobody is about to train, and what the command that trained it would do about it.
struct RunCheck {
  enum class Verdict {
    whole,       ///< finished, and everything is as it was written
    unfinished,  ///< goes on where its checkpoint is, or begins
    marred,      ///< finished, and the results are as they were written; what is told beside them is not
    mendable,    ///< finished; what is damaged is written again from what is intact
    repeated,    ///< has to be trained again
    unreadable,  ///< there is something that cannot be read
    old,         ///< finished under version 0.1, without checksums: nothing visible is wrong
    misplaced,   ///< another run's directory
  };
  Verdict verdict = Verdict::whole;
  std::vector<std::string> damage;  ///< file and what is wrong with it, one line each
};

/// Reads everything that the run left.
RunCheck check_run(const RunDirectory& directory);

/// Renames `path` to the first free "path.old-N" and returns the new name.
std::filesystem::path move_aside(const std::filesystem::path& path);

}  // namespace ffn
