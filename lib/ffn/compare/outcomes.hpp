// A run's outcome by a metric: a value that it logged, or the time to its target.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/stats/scale.hpp"

namespace ffn {

enum class Measure { logged, steps, flops, seconds };

struct Metric {
  std::string name;
  Measure measure = Measure::logged;
  bool higher_is_better = false;
  bool is_time() const { return measure != Measure::logged; }
  stats::MetricKind kind() const;
};

/// The metric that was asked for, or the one that suits the runs. Throws UsageError for an unknown one, or if no run has it.
Metric pick_metric(const std::string& asked, const std::vector<FoundRun>& runs);

/// With train.target.stop: what it measured last is as of its hit.
bool stops_at_hit(const FoundRun& run);

/// A run that ended well without a value of the metric does not log it; that is no failure.
bool is_unmeasured(const FoundRun& run, const Metric& metric);

/// Nothing for a run that diverged or failed. A run that is over and has none is worse than every value.
stats::Outcome outcome_of(const FoundRun& run, const Metric& metric);

/// The last value of a logged metric, or that of "best val/loss", the best over the run; none where it has none.
std::optional<double> logged_value(const RunSummary& summary, const std::string& metric);

/// For runs that are over and have a value.
std::vector<stats::Outcome> outcomes_of(const std::vector<FoundRun>& runs, const Metric& metric);

/// When a run got to its target, in the unit of `measure`, which is a time.
stats::Hit hit_of(const FoundRun& run, Measure measure);

/// When a run diverged, in the same unit; nothing of others. One that failed has no summary, and counts as lost from its begin.
std::optional<double> lost_at(const FoundRun& run, Measure measure);

}  // namespace ffn
