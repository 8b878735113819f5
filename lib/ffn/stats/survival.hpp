// Time to a target when some runs never get there: product-limit curve, median and restricted mean.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ffn/stats/summary.hpp"

namespace ffn::stats {

/// When a run reached its target, in any unit of training effort (steps, tokens, seconds), the same for all.
struct Hit {
  std::optional<double> time;  ///< nullopt or not finite: not within the budget, and whatever made the run fail
  double budget;               ///< right-censoring time: what the run was given. For a run that diverged this is the *planned*
                               ///< budget, not the step of its death: it is known that it never hits, and to censor it at its
                               ///< death would credit it with the hits of the others

  bool reached() const;
};

/// The curve just after one hit time.
struct SurvivalStep {
  double time;
  std::size_t at_risk;  ///< runs that had not hit and were still observed just before `time`
  std::size_t hits;     ///< runs that hit at `time`
  double unreached;     ///< S(time): estimated share of runs whose hit comes later than `time`
};

/// A right-continuous step function that starts at 1 and falls at every hit time.
struct SurvivalCurve {
  std::vector<SurvivalStep> steps;  ///< ascending in time
  double follow_up;                 ///< the largest time at which any run was observed
};

/// Kaplan–Meier product-limit estimate (Kaplan & Meier 1958): S(t) = Π_{t_i ≤ t} (1 − h_i / Y_i). A run censored at
/// the time of a hit is still at risk for it. Throws if empty, if a budget is not positive and finite, or if a hit
/// time is negative or beyond its budget.
SurvivalCurve kaplan_meier(const std::vector<Hit>& runs);

/// Interval of S just after each step of the curve, by Greenwood's variance on the scale of log(−log S) (Kalbfleisch & Prentice 2002,
/// §1.4.1; R's survfit with conf.type "log-log"): within (0, 1). Nothing where S is 0, whose variance is not defined. Throws if the level
/// is outside (0, 1).
std::vector<std::optional<Interval>> unreached_intervals(const SurvivalCurve& curve, double level);

/// Median time to target, the smallest t with S(t) ≤ 1/2; nullopt means "not reached": more than half never hit.
std::optional<double> median_time(const SurvivalCurve& curve);

/// Mean of min(time, horizon), the area under the curve up to the horizon.
struct RestrictedMean {
  double mean;            ///< in units of time
  double standard_error;  ///< 0 also when no run hit, which is ignorance of the spread and no certainty
  double horizon;
};

/// Restricted mean time to target (Irwin 1949; Royston & Parmar 2013) with its Greenwood-type standard error
/// √ Σ_i A_i² h_i / (Y_i (Y_i − h_i)), A_i = area under S from t_i to the horizon (Klein & Moeschberger 2003, §4.5;
/// R's survival::survfit reports the same). Throws if the horizon is not positive, or lies beyond the
/// follow-up while S there is above 0.
RestrictedMean restricted_mean(const SurvivalCurve& curve, double horizon);

/// mean ± t_{n−1} √(n / (n − 1)) · standard error over n runs: Student's t interval of min(time, horizon) where no run is censored
/// before the horizon, for which the Greenwood-type error is that with divisor n. ± 1.96 standard errors, which is usual, covers 86 %
/// in place of 95 % at 6 runs, this 94–95 %. (−∞, ∞) for one run. Throws if num_runs is 0 or the level is outside (0, 1).
Interval restricted_mean_interval(const RestrictedMean& mean, std::size_t num_runs, double level);

}  // namespace ffn::stats
