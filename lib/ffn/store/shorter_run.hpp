// Going on: a run of more steps begins with the state that the same run with fewer steps left beside it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ffn/store/run_directory.hpp"

namespace ffn {

struct RunCheck;

/// The run of the same identity but for fewer train.steps, in the directory beside.
struct ShorterRun {
  std::filesystem::path directory;
  RunRecord record;
  std::int64_t step = 0;  ///< of its state
  std::string obstacle;   ///< why its state is of no use to the longer run; empty where it goes on from there
};

/// For each of these directories of runs: those beside it with its seed. A directory around them is read once, however many they are.
using RunsBeside = std::vector<std::filesystem::path>;
std::vector<RunsBeside> runs_beside(const std::vector<std::filesystem::path>& runs);

/// The one that has come furthest, of those whose state is of use if there is any. Nothing for a run that has a checkpoint of its own.
std::optional<ShorterRun> find_shorter_run(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                           const RunsBeside& beside);

/// Logs how many runs go on from shorter ones, and why others cannot: a line for each reason.
void log_shorter_runs(const std::vector<ShorterRun>& runs);

/// The state to go on from, by find_shorter_run(); `check.record` is that run's then, and the directory holds nothing stale. Nothing, with
/// a warning, where the state is damaged.
std::optional<StoredCheckpoint> state_of_shorter_run(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                                     const RunsBeside& beside, RunCheck& check);

}  // namespace ffn
