// Worker processes: each trains one cohort after the other. A worker that dies costs its cohort one retry, nothing else.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "ffn/study/plan.hpp"
#include "ffn/study/worker.hpp"

namespace ffn {

/// The threads of each worker: its even share of the cores, 1 at least.
std::size_t thread_share(std::size_t cores, std::size_t workers);

struct PoolOptions {
  std::size_t jobs = 1;
  std::size_t cores = 1;  ///< shared out as threads among the workers that are at work just now
  bool fail_fast = false;
  std::vector<std::string> argv;
  std::function<bool()> stop;                            ///< asked often; true ends the study in order
  std::chrono::milliseconds patience{45'000};            ///< for workers that were asked to stop; then they are killed
  std::function<void(const WorkerMessage&)> on_message;  ///< in the parent
  std::function<void()> in_worker;                       ///< first thing in a worker: its own signal handlers
};

struct PoolResult {
  std::size_t trained = 0, diverged = 0, elsewhere = 0;
  std::set<std::size_t> ended;  ///< indices into Plan::runs: done or diverged here
  std::set<std::size_t> failed;
  bool interrupted = false;
  std::string unreadable;  ///< what a worker could not read, and why; the runs of its cohort are as they were
};

/// Trains the cohorts in order on `jobs` forked workers. The engine must be loaded before, so that it is loaded once.
PoolResult run_pool(const Plan& plan, const std::vector<PlannedCohort>& cohorts, Engine& engine, const PoolOptions& options);

}  // namespace ffn
