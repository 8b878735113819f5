// Compares a variant with a reference, paired by seed.
//
// Signs. Every difference is variant − reference in the metric's own units, whatever the direction: a loss that fell
// by 0.03 is −0.03, an accuracy that rose by 0.03 is +0.03. Everything that *judges* – wins, losses, probability of
// improvement, standardised effect – is counted in favour of the variant: more, or above 1/2, or positive, is better.
//
// The null hypothesis is that within a seed the names "variant" and "reference" could be swapped. Runs that ended
// without a value are never dropped: they are worse than every value, and two of them tie.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ffn/stats/bootstrap.hpp"
#include "ffn/stats/inversion.hpp"
#include "ffn/stats/survival.hpp"

namespace ffn::stats {

enum class Direction { higher_is_better, lower_is_better };

/// One run's metric; nullopt or a non-finite number means that it diverged or failed.
using Outcome = std::optional<double>;
/// Neither missing nor infinite.
inline bool has_value(const Outcome& outcome) { return outcome && std::isfinite(*outcome); }

struct CompareOptions {
  double alpha = 0.05;      ///< chance of a false better/worse over the family; intervals have level 1 − alpha
  double min_effect = 0.0;  ///< smallest difference that matters, on the scale of the comparison; 0: every difference matters
  std::size_t resamples = kDefaultResamples;
  std::uint64_t seed = 0;       ///< of the resampling; has nothing to do with the runs' seeds
  std::size_t comparisons = 1;  ///< comparisons planned in the family, as far as known; see judge() in verdict.hpp
  /// n₂/n₁, held-out rows per training row, where each seed splits the same rows anew; 0 where seeds are replicates. Then all tests are the
  /// corrected resampled t test, whatever the scale says.
  double held_out_per_training = 0.0;
};

enum class PairedTest { sign_flip_of_mean, signed_rank, corrected_t, permutation_of_means, rank_sum };

/// Both rank tests: a run without a value is worst.
inline bool is_of_ranks(PairedTest test) { return test == PairedTest::signed_rank || test == PairedTest::rank_sum; }

std::string to_string(PairedTest test);

/// The tested value of a pair: v − r, or ln(v / r).
enum class PairedValues { difference, log_ratio };

/// On what a comparison is made; scale.hpp has the rule.
struct Scale {
  PairedValues values;
  PairedTest test;
  std::string reason;  ///< "log ratio, because all values of the loss are positive"
};

enum class Estimand { mean_difference, typical_difference };

/// The effect that the test judges, variant − reference in metric units or ln(variant / reference), with the interval of level
/// 1 − alpha that inverts this very test (inversion.hpp): before any correction, 0 lies outside exactly when p < alpha.
struct Effect {
  Estimand estimand;  ///< mean for the sign-flip test, typical (Hodges–Lehmann) for the signed-rank test
  double value;
  Interval interval;
  double sd = 0;        ///< of the differences that a mean is of; 0 for a single seed, and by ranks
  double skewness = 0;  ///< of the same
};

/// A test of a mean keeps its error rate where differences are symmetric about it. With equal means and lognormal differences 10 to 17 % of
/// studies of 6 to 50 seeds come to a verdict; beyond this size of the skewness it is said. So it is in 4 to 12 % of studies with normal
/// differences, of 20 to 6 seeds. Ranks are no way out: they ask about a typical seed, where such sides do differ (50 % at 50 seeds).
constexpr double kSkewed = 1.0;
inline bool is_skewed(const Effect& effect) { return std::abs(effect.skewness) > kSkewed; }

/// Mean of the paired differences, variant − reference, in metric units on every scale (for hits: of the times cut at the horizon).
struct MeanDifference {
  double mean;
  double sd;  ///< of the differences; 0 for a single seed
  /// Level 1 − alpha: the effect's where that is the mean difference, Student's t for hits, none where another effect is judged.
  std::optional<Interval> interval;
};

/// P(the variant beats the reference), ties counting half: 1 always, 1/2 no preference, 0 never.
struct ProbabilityOfImprovement {
  double paired;      ///< over seeds: (wins + ties / 2) / n (Bouthillier et al. 2021, arXiv:2103.03098)
  Interval interval;  ///< of `paired`, level 1 − alpha: BCa over seeds; Clopper–Pearson when one side won every seed
  double all_pairs;   ///< over all n² pairs of runs, rliable's P(X > Y) (Agarwal et al. 2021): U / n²
};

/// Runs that no seed pairs (unpaired.hpp).
struct UnpairedRuns {
  std::size_t num_variant, num_reference;
  std::optional<double> welch_p;  ///< nullopt where a run has no value or a side has one run
};

struct PairedResult {
  Direction direction;
  CompareOptions options;
  std::size_t num_seeds;
  std::size_t wins, ties, losses;                  ///< seeds at which the variant was better, equal, worse
  std::size_t missing_variant, missing_reference;  ///< runs without a value (hits: runs that never hit)
  PairedValues values;                             ///< what `effect` and min_effect are in
  PairedTest test;
  std::string test_reason;                   ///< why this scale and test, in words
  double p;                                  ///< two-sided, before any correction
  bool exact_p;                              ///< all sign patterns enumerated
  double smallest_p;                         ///< the smallest p that this number of seeds can give
  double standardised_effect;                ///< mean / sd of what the test adds up (differences or signed ranks), positive is
                                             ///< better; ±∞ without spread, 0 for a single seed
  std::optional<Effect> effect;              ///< nullopt when no seed has a value on either side; of splits, when any run has none
  std::optional<MeanDifference> difference;  ///< nullopt when a value is missing: the mean is undefined
  std::optional<double> p_equivalence;       ///< of |effect| ≥ min_effect; nullopt without min_effect. The larger p of two one-sided
                                             ///< tests, of d + min_effect and of min_effect − d (Schuirmann 1987), exact as `p` is
  ProbabilityOfImprovement improvement;
  std::optional<UnpairedRuns> unpaired = {};
};

/// Compares outcomes of the same seeds in the same order on the scale that scale.hpp chooses, on which options.min_effect is, too:
/// ln(1 + 0.05) of log ratios lets the larger value be 5 % above the smaller. By ranks a pair with one missing value ranks above all
/// finite differences and a pair with two is a tie, also when differences are shifted (by a margin, for an interval): it says nothing
/// about their size. The verdict is judge()'s (verdict.hpp).
/// Seeds that split the same rows are no replicates: a mean over J of them has the variance (1/J + n₂/n₁) s², n₁ rows to train and n₂ held
/// out, so t = d̄ / √((1/J + n₂/n₁) s²) with J − 1 degrees of freedom, and the interval and both one-sided tests likewise (Nadeau & Bengio
/// 2003, "Inference for the Generalization Error", Machine Learning 52: the corrected resampled t test). It is about other rows of the same
/// kind. p is at least what the sign-flip test could reach, so few seeds give no verdict, and equal differences no certainty. There is no
/// mean where a run has no value, and then no verdict (p = 1).
/// Throws if the lengths differ or are 0, if alpha is outside (0, 1/2), if min_effect is negative or not finite, if resamples or
/// comparisons is 0, if a value of a log ratio is not positive, or if a value is missing and the test is of the mean.
PairedResult compare_paired(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference, Direction direction,
                            const Scale& scale, const CompareOptions& options = {});

/// Time to target of one side.
struct TimeToTarget {
  std::size_t num_hits;
  std::optional<double> median;  ///< Kaplan–Meier; nullopt: not reached by half of the runs
  RestrictedMean restricted_mean;
};

struct HitResult {
  PairedResult paired;  ///< direction lower_is_better; `difference` is that of the restricted means
  double horizon;       ///< the smallest budget of all runs: later hits count as never
  TimeToTarget variant, reference;
};

/// Compares times to a target, right-censored at the budget, of the same seeds in the same order. The test is always
/// the signed-rank test, in which never is worse than any hit and two nevers tie. The difference of restricted means
/// up to the horizon is that of the Kaplan–Meier curves, and equals the mean over seeds of the differences of
/// min(time, horizon), of which its t interval is. Of splits of the same rows the corrected test is of that mean. Throws as compare_paired
/// and kaplan_meier do.
HitResult compare_hits(const std::vector<Hit>& variant, const std::vector<Hit>& reference, const CompareOptions& options = {});

/// Tests whether the mean of a contrast is 0 by the sign-flip test, with the interval that inverts it and, for a min_effect, both one-sided
/// tests, as compare_paired() does of a difference. `contrast`: one value a seed, variant − reference as an Effect is; `values` says
/// whether it is of log ratios. Exact if the contrast is symmetric about 0, as it is where labels could be swapped within each seed. Throws
/// if the contrast is empty or not finite, and as compare_paired() does.
PairedResult compare_contrast(const std::vector<double>& contrast, Direction direction, PairedValues values,
                              const CompareOptions& options = {});

}  // namespace ffn::stats
