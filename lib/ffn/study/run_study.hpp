// Runs what a study still lacks. Start it as often as you like, also twice at the same time: nothing is trained twice.
#pragma once

#include <set>

#include "ffn/study/worker_pool.hpp"

namespace ffn {

struct StudyOptions {
  std::vector<std::size_t> runs;  ///< indices into Plan::runs: those to train here
  std::vector<Progress> found;    ///< progress_of(plan.runs), as it was at the start
  std::size_t jobs = 1;
  std::size_t cores = 1;  ///< that workers share out as threads
  bool fail_fast = false;
  std::vector<std::string> argv;
  std::function<bool()> stop;
  std::function<void(const WorkerMessage&, const std::vector<PlannedCohort>&)> on_message;
  std::function<void()> in_worker;
  std::function<Engine&()> engine;  ///< called when there is something to train
};

struct StudyOutcome {
  std::size_t total = 0, reused = 0, trained = 0, diverged = 0;
  std::set<std::size_t> failed;  ///< indices into Plan::runs, of this session
  bool interrupted = false;
  bool directory_lost = false;  ///< somebody removed or replaced it: what was trained is not there
};

/// Trains every one of the runs that is not finished, resumes those that were begun, tries again those that failed in an earlier
/// session. Runs that another process is training are waited for.
StudyOutcome run_study(const Plan& plan, const StudyOptions& options);

/// Writes study.json where it is damaged or says something else; not where a growing study has come further than this plan. Without work
/// to do, a directory that cannot be written is only warned of. Without a finished run, claims are those of this start.
void keep_study_file(const Plan& plan, bool has_work, bool any_finished = true);

}  // namespace ffn
