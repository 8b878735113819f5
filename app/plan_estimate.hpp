// The cost of a study, counted and from a probe.
#pragma once

#include <optional>
#include <vector>

#include "commands.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/store/shorter_run.hpp"
#include "ffn/study/plan.hpp"

namespace ffn::app {

/// The cost of one variant.
struct PlanLine {
  const Variant* variant;
  ModelCost cost;
  double bytes = 0, flops = 0;  ///< of one run
  std::size_t runs = 0, finished = 0;
};

/// The cost of a study.
struct PlanEstimate {
  std::vector<PlanLine> lines;  ///< per variant
  std::size_t runs = 0, pending = 0, cohorts = 0, jobs = 0;
  std::vector<PlannedCohort> planned;
  std::size_t workers = 1;  ///< that have something to do at once
  std::string few_workers;  ///< why there are fewer than cores for want of memory
  double bytes = 0, flops = 0;
  std::optional<double> seconds;                    ///< of a probe
  double evaluation_seconds = 0;                    ///< of these
  double peak_bytes = 0;                            ///< likewise, of one worker; 0 where nothing is known
  std::size_t tuning_runs = 0, tuning_pending = 0;  ///< before these, and in bytes, flops and seconds
  std::vector<ShorterRun> shorter_runs;             ///< beside pending ones
  double left = 0;                                  ///< mean share of a pending run that no shorter one has trained
  std::optional<UsageError> refusal;                ///< what starting it would end with
};

/// All but what a probe tells.
PlanEstimate counted(const Plan& plan, std::size_t jobs);

/// Time and memory, from a probe. Throws UsageError for what this machine cannot hold.
void measure(const Plan& plan, PlanEstimate& out);

/// The runs that tune it first, measured where `probe`. Their grids may grow: that is known later.
void add_tuning(const Plan& plan, bool probe, PlanEstimate& out);

}  // namespace ffn::app
