// How a run stands on disk, seen from who wants to train it, and how its directory is made ready. What is damaged is said and
// steps aside; what is not ours is never touched. Depends on run_directory and tasks.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ffn/store/run_directory.hpp"

namespace ffn {

enum class Standing {
  absent,    ///< nothing there, or an empty directory
  foreign,   ///< something that is no run of ours
  another,   ///< a run of another config, or computed by another engine than was asked for
  begun,     ///< not over; goes on from its checkpoint if it has one
  failed,    ///< ended in an error; goes on likewise
  finished,  ///< done or diverged
};

struct RunLook {
  Standing standing = Standing::absent;
  std::string about;                  ///< what is foreign, another's or damaged, and how; empty if all is as it was written
  std::vector<std::string> damage;    ///< of a finished run: `about`, one file each
  std::vector<std::string> differs;   ///< of another run: the keys, "train.steps: 1000 → 500"
  bool holds_another = false;         ///< of one that begun or failed: results of another run lie here
  bool mendable = false;              ///< what is damaged of a finished run can be written again from what is intact
  std::optional<RunSummary> summary;  ///< of a run that finished, if it can be read

  /// Finished, and nothing is wrong with it.
  bool is_whole() const { return standing == Standing::finished && about.empty(); }
};

/// Reads the run's small files and, of a finished run, compares all that its summary vouches for. A checkpoint is not opened.
RunLook look_at(const RunDirectory& directory, const RunConfig& config, const std::string& identity);

/// Whose run this is, by each of its files that says so and can be read (status.json, summary.json, config.json), in that order.
/// One of them may be lost or of another run; who knows what may stand here takes the first that fits.
std::vector<std::string> stated_identities(const RunDirectory& directory);

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

}  // namespace ffn
