// On which scale the pairs of a comparison are judged, and what is to be said about it.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/stats/scale.hpp"

namespace ffn {

/// Ratios or differences for all pairs of a comparison; mean or ranks for each.
class PairScale {
 public:
  /// `asked`: compare.scale. `runs`: the metric of all runs that are over, none where a run has no value. Throws UsageError for ratios
  /// of what is not positive, and for anything but ranks of times.
  PairScale(const std::string& asked, const std::string& metric, stats::MetricKind kind, const std::vector<stats::Outcome>& runs);

  bool as_ratios() const { return values_ == stats::PairedValues::log_ratio; }
  /// The smallest effect that matters on this scale: ln(1 + min_effect) of ratios.
  double margin(double min_effect) const;
  /// Per seed in favour of the variant, on this scale.
  std::vector<double> advantages(const std::vector<stats::Outcome>& variant, const std::vector<stats::Outcome>& reference) const;
  /// Mean or ranks at an interim analysis, which has the advantages alone to go by.
  stats::TestRule test_rule() const;
  stats::Scale of_pair(const std::vector<stats::Outcome>& variant, const std::vector<stats::Outcome>& reference) const;

 private:
  std::string asked_;
  stats::MetricKind kind_;
  stats::PairedValues values_;
};

/// Throws UsageError if this scale cannot be had of a metric of this kind, whatever its values are. "auto" can always.
void check_scale(const std::string& asked, const std::string& metric, stats::MetricKind kind);

/// Which scale it was and why, and how many runs were bad. For comparisons of logged metrics.
void note_scale(const std::string& asked, Comparison& comparison);
void note_bad_runs(Comparison& comparison);

}  // namespace ffn
