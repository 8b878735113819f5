// Verdicts over a family of comparisons, and how to say them. Depends on the rest of ffn/stats only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

enum class Verdict { better, worse, no_meaningful_difference, undecided, too_few_seeds };

/// "better", "worse", "no meaningful difference", "undecided", "too few seeds".
std::string to_string(Verdict verdict);

struct Judgement {
  Verdict verdict;
  std::size_t comparisons;        ///< m of Holm's correction
  double p_holm;                  ///< p adjusted for the family
  double smallest_p_holm;         ///< p_holm if this result's p were the smallest possible
  std::size_t seeds_for_verdict;  ///< fewer seeds than this cannot give any verdict in a family of this size
  /// Only when undecided: total number of seeds that would decide with 80 % power (by ranks, where two conditions have
  /// to hold, 70–76 % in simulations) if the observed effect and spread were the true ones, for or against a
  /// difference; nullopt if more than kMaxPlannedSeeds.
  /// A plan for a *new* study, not evidence: it inherits the noise of the observed effect (Hoenig & Heisey 2001), and
  /// adding seeds and testing again until something is significant makes more errors than alpha.
  std::optional<std::size_t> seeds_to_decide;
};

/// One judgement per result, in order. The family is all results, e.g. all variants against one reference on one
/// metric; if some result's options.comparisons is larger, that is m. The rule:
/// - too few seeds: even the smallest p that this number of seeds can give is not below alpha after Holm;
/// - no meaningful difference: min_effect > 0 and the whole equivalence interval, level 1 − 2·alpha, lies within
///   ±min_effect (two one-sided tests, Schuirmann 1987), also if the difference is significant: it is known to be
///   too small to matter. Not corrected for the family;
/// - better, worse: Holm-adjusted p < alpha, and the interval excludes no difference on the same side: that of the
///   mean difference excludes 0, or, where the test is by ranks, that of the probability of improvement excludes 1/2;
/// - undecided: everything else.
/// Throws if the results differ in alpha, and as seeds_for_any_verdict does.
std::vector<Judgement> judge(const std::vector<PairedResult>& family);

/// The verdict in one line, with the evidence in the metric's units (− is U+2212, intervals in brackets), e.g.
///   better: −0.031 [−0.044, −0.019], p = 0.0078 (Holm, 3 comparisons), 8 of 8 seeds
///   undecided: −0.010 [−0.031, +0.012], p = 0.38, 5 of 8 seeds; about 14 more seeds would settle it
///   too few seeds: with 5 the smallest possible p is 0.0625; at least 6 are needed
/// "k of n seeds" counts the seeds at which the variant won, or lost if the verdict is worse. Results by ranks show
/// P(better) in place of the mean difference.
std::string verdict_sentence(const PairedResult& result, const Judgement& judgement);

}  // namespace ffn::stats
