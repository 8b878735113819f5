// Whether a run is as it was written: for whoever trains it, compares it, merges it or asks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/store/lock_file.hpp"
#include "ffn/store/shorter_run.hpp"

namespace ffn {

struct RunCheck {
  enum class Verdict {
    absent,      ///< nothing is there, or nothing but an empty directory
    unfinished,  ///< goes on from its checkpoint, or begins again
    failed,      ///< ended in an error; goes on likewise
    whole,       ///< finished, and everything is as it was written
    damaged,     ///< has to be trained again
    unreadable,  ///< something cannot be read now
  };
  Verdict verdict = Verdict::absent;
  std::vector<std::string> damage = {};  ///< file and what is wrong with it, one line each
  std::optional<RunRecord> record = {};  ///< where run.json is whole

  bool is_whole() const { return verdict == Verdict::whole; }
};

/// Reads run.json and compares the files that it vouches for. `identity`: of the run that belongs there; empty: any. Throws ReadError.
RunCheck check_run(const RunDirectory& directory, const std::string& identity = {});
/// Opens the checkpoint of an unfinished run, too, and throws nothing.
RunCheck check_run_closely(const RunDirectory& directory);

/// For whoever holds the run's claim and is going to train it: where it goes on, be it from a shorter run's state (shorter_run.hpp), or
/// nothing if it begins. Renames the directory of a damaged run, with a warning.
std::optional<StoredCheckpoint> make_ready(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                           const RunsBeside& beside, RunCheck& check);

/// Which files a finished run lacks that its config's `keep` asks for, with their verb: it was trained with another. Empty for none.
std::string lacking_files(const RunConfig& config, const RunSummary& summary);

/// The record of a run whose file of weights holds those that were trained. Throws DataError where it does not, or is not there.
RunRecord require_trained(const RunDirectory& directory, const std::filesystem::path& weights);

/// Locks a run for training; the system releases the lock however its holder dies. Empty if another process, or another claim of this
/// one, has the run. Creates the parent of the run's directory, but none above it.
std::optional<LockFile> claim_run(const std::filesystem::path& run);

}  // namespace ffn
