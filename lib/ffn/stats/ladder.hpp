// Does a difference hold at other sizes? Per seed its slope over size, the share of small decisions that the largest size confirms, and a
// scaling law with the compute that a variant saves. Losses are positive and lower is better; a seed's runs at all sizes and of all
// variants are one replicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ffn/stats/summary.hpp"

namespace ffn::stats {

/// A variant at one size: training compute in any unit, and one loss per seed.
struct Rung {
  double compute;
  std::vector<double> losses;
};
/// ladder[variant][size], sizes ascending, seeds in one order everywhere.
using Ladder = std::vector<std::vector<Rung>>;

/// ℓ = E + A_v · C^−α with E and α shared by the variants (Hestness et al. 2017, arXiv:1712.00409).
struct LossLaw {
  double floor;                   ///< E
  bool is_floor_given;            ///< by the user; otherwise fitted
  double exponent;                ///< α; not above 0 where losses do not fall
  std::vector<double> log_scale;  ///< ln A_v
  double loss(std::size_t variant, double compute) const;
  /// C_ref / C_v for equal losses: (A_ref / A_v)^{1/α}.
  double multiplier(std::size_t variant, std::size_t reference) const;
};

/// Fits geometric means over seeds. With E given, ln(ℓ − E) is linear in ln C: least squares. Otherwise E in [0, smallest loss) is the one
/// with the least squared error of ln ℓ. Throws if the ladder has fewer than 2 sizes, or 3 without E, if its variants differ in sizes or
/// seeds, or if a loss is not above E.
LossLaw fit_law(const Ladder& ladder, std::optional<double> floor);

/// ((ℓ_ref − E) / (ℓ − E))^{1/α}: how many times the compute the reference needs to reach ℓ. Throws unless both losses are above E and α >
/// 0.
double compute_multiplier(double loss, double reference_loss, double floor, double exponent);

/// Time of the reference over time of the variant to the same loss. `throughput`: FLOPs/s, or tokens/s where both cost the same per token.
inline double effective_speedup(double multiplier, double throughput, double reference_throughput) {
  return multiplier * throughput / reference_throughput;
}

struct LadderOptions {
  std::optional<double> floor;
  double level = 0.95;
  std::size_t resamples = 2000;
  std::uint64_t seed = 0;
};

struct Estimate {
  double value;
  Interval interval;
};

/// The variants' multipliers, against the first one's. Seeds are resampled in pairs and the law is refitted; the interval of ln m is
/// ± t_{S−1} · sd · √(S / (S − 1)) of the S seeds' resamples. Percentiles of so few seeds would cover 80 to 90 %; this covers 93 to 97 %
/// at 4 to 10 seeds. Without bounds for a single seed, or where a resample's losses do not fall.
std::vector<Estimate> multipliers(const Ladder& ladder, const LadderOptions& options = {});

/// The law's loss of each variant at another compute, with an interval for the mean of as many seeds there: the wider of Student's t
/// interval of the scatter about the law (of ln(ℓ − E); a fitted E is a third coefficient) and of that of resampled seeds. `measured`:
/// those seeds' runs there, without which their noise is that of the largest size.
std::vector<Estimate> predictions(const Ladder& ladder, const std::vector<double>& compute, const std::vector<Rung>* measured,
                                  const LadderOptions& options = {});

/// A law is not followed further than this times the largest compute that it was fitted to.
constexpr double kFarthestProjection = 30.0;

/// Share of the resampled seeds whose refit keeps each variant on the side of the first one that it is on at the largest size:
/// [variant][time], at these times the largest compute. Each refit gives every variant an exponent of its own, so that curves may cross; E
/// is that of the shared law. Empty for a single seed. Throws as fit_law does.
std::vector<std::vector<double>> shares_that_hold(const Ladder& ladder, const std::vector<double>& times,
                                                  const LadderOptions& options = {});

/// Slope of each seed's ln(variant / reference) over log₂ size: for compare_contrast(). Throws as fit_law does.
std::vector<double> log_ratio_slopes(const std::vector<Rung>& variant, const std::vector<Rung>& reference,
                                     const std::vector<double>& sizes);

/// Each seed's difference of exponents, α_v − α_ref, at this E: for compare_contrast(). Throws as fit_law does.
std::vector<double> exponent_differences(const std::vector<Rung>& variant, const std::vector<Rung>& reference, double floor);

/// How many pairs of variants stand in the same order at one size as at the largest (Magnusson et al. 2025, DataDecide, arXiv:2504.11393).
struct DecisionAccuracy {
  std::size_t num_pairs, num_agreeing;
  Interval interval;
};

/// By the geometric means over seeds; two equal means agree with equal ones only. Pairs share variants, so the interval is Wilson's (1927)
/// of ⌊V/2⌋ pairs, as many as share none: all pairs together have at most that variance (Hoeffding 1963, section 5). Throws as fit_law
/// does.
DecisionAccuracy decision_accuracy(const Ladder& ladder, std::size_t size, double level);

}  // namespace ffn::stats
