// Trains the runs of one cohort that still need it: claims them, skips what is finished, resumes what was begun.
#pragma once

#include <functional>

#include "ffn/study/plan.hpp"
#include "ffn/train/cohort.hpp"

namespace ffn {

/// A run's progress on disk.
enum class Progress { pending, finished, failed, other_engine };

/// finished: done or diverged, and everything it left is as it was written. failed: ended in an error. other_engine: finished by another
/// engine than its config asks for.
Progress progress_of(const PlannedRun& run);
/// The progress of many runs, by several threads.
std::vector<Progress> progress_of(const std::vector<PlannedRun>& runs);

struct CohortHooks {
  std::function<void(std::size_t run, std::int64_t from_step)> started;  ///< index into Plan::runs
  std::function<void(std::int64_t step, double loss)> stepped;
  std::function<void(std::size_t run, const RunResult& result, double val_loss)> finished;
  std::function<void(std::size_t run)> failed;
  std::function<bool()> stop;
};

struct CohortOutcome {
  std::size_t trained = 0;    ///< brought to an end here
  std::size_t elsewhere = 0;  ///< claimed by another process
  std::size_t failed = 0;     ///< ended in an error, which stands in run.json where that can be written
  bool interrupted = false;
};

/// Gives the system back what earlier cohorts freed: the allocator keeps the holes between what lives on, and a worker would grow from
/// cohort to cohort.
void give_back_freed_memory();

/// The message about a run that resumes with this engine after another one; otherwise empty. The run's summary says so, too.
std::string other_engine_line(const Checkpoint& checkpoint, const EngineInfo& info);

/// A run fails whose engine throws, or whose text changes meanwhile; the others go on. Throws DataError where the text changed before,
/// SystemError where the study's directory is gone, ReadError.
CohortOutcome train_cohort(const Plan& plan, const PlannedCohort& cohort, Engine& engine, const std::vector<std::string>& argv,
                           const CohortHooks& hooks);

}  // namespace ffn
