// One worker process from within: it trains the cohorts that it is told to and says how it goes. Its parent is study/worker_pool.hpp.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "ffn/study/plan.hpp"
#include "ffn/study/train_cohort.hpp"

namespace ffn {

/// A worker's message to its parent; one write(), small enough to be atomic on a pipe (POSIX: 512 bytes).
struct WorkerMessage {
  enum class Kind { run_started, stepped, run_finished, run_failed, cohort_finished, cohort_failed } kind;
  std::size_t cohort = 0, run = 0;
  std::int64_t step = 0;
  double loss = 0;
  RunEnd end = RunEnd::done;
  CohortOutcome outcome = {};
  bool unreadable = false;  ///< of cohort_failed: by a ReadError; nothing is known of its runs
  char reason[256] = {};
};

/// A worker's references to its parent's objects. The parent outlives it.
struct WorkerTask {
  const Plan& plan;
  const std::vector<PlannedCohort>& cohorts;
  Engine& engine;
  const std::vector<std::string>& argv;
  const std::function<bool()>& stop;  ///< asked often; true: checkpoint and end; may be empty
};

/// Trains every cohort whose number comes from `commands`, with messages on the way, and ends the process when no more can come.
[[noreturn]] void serve_as_worker(const WorkerTask& task, int commands, int messages);

/// A worker whose parent was killed checkpoints and ends instead of training for nobody. SIGCONT is the one signal that also
/// reaches a worker that somebody has stopped; one that is continued by hand still has its parent. One that was asked to stop already, as
/// `stop` says, ends at once: so did its parent. False: too late. `stop` is asked within a signal handler and has to outlive the process.
bool end_with(pid_t parent, const std::function<bool()>& stop);

/// Pipes between the two. False when the other end is gone (SIGPIPE is ignored).
bool write_whole(int fd, const void* data, std::size_t size);
bool read_whole(int fd, void* data, std::size_t size);

}  // namespace ffn
