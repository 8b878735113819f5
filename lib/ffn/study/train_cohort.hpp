// Trains the runs of one cohort that still need it: claims them, skips what is finished, resumes what was begun.
#pragma once

#include <functional>

#include "ffn/engine/interface.hpp"
#include "ffn/study/plan.hpp"

namespace ffn {

/// Where a run stands on disk.
enum class Progress { pending, finished, failed };

/// finished: done or diverged with this identity. failed: this identity ended in an error.
Progress progress_of(const PlannedRun& run);

struct CohortHooks {
  std::function<void(std::size_t run, std::int64_t from_step)> started;  ///< index into Plan::runs
  std::function<void(std::int64_t step, double loss)> stepped;
  std::function<void(std::size_t run, RunEnd end)> finished;
  std::function<bool()> stop;
};

struct CohortOutcome {
  std::size_t trained = 0;    ///< brought to an end here
  std::size_t elsewhere = 0;  ///< claimed by another process
  std::size_t failed = 0;     ///< ended in an error, which stands in their status
  bool interrupted = false;
};

/// Runs whose directory holds another config's results are started afresh; the old directory is moved aside.
/// Throws what the engine throws, after marking the unfinished runs as failed.
CohortOutcome train_cohort(const Plan& plan, const PlannedCohort& cohort, Engine& engine, const std::vector<std::string>& argv,
                           const CohortHooks& hooks);

/// Renames `path` to the first free "path.old-N" and returns the new name.
std::filesystem::path move_aside(const std::filesystem::path& path);

}  // namespace ffn
