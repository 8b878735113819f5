// Verdicts over a family of comparisons, and their texts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ffn/stats/paired.hpp"
#include "ffn/stats/ratio.hpp"

namespace ffn::stats {

enum class Verdict { better, worse, no_meaningful_difference, same, undecided, too_few_seeds };

/// The name of a verdict, on the screen as in JSON, CSV, `expect` and `--fail-if`, and its meaning.
struct VerdictWord {
  Verdict verdict;
  const char *word, *meaning;
};
const std::vector<VerdictWord>& verdict_words();

std::string to_string(Verdict verdict);

/// Both sides have the same value with every seed; not where neither has any.
bool is_same_with_every_seed(const PairedResult& result);

/// A new study of this many seeds, and how likely it reaches a verdict.
struct Chance {
  std::size_t num_seeds;
  double if_different;  ///< if there is a difference
  double overall;       ///< also if there may be none (power.hpp)
};

struct Judgement {
  Verdict verdict;
  std::size_t comparisons;                       ///< m of the correction
  double p_holm;                                 ///< p adjusted for the family; with min_effect by closed_adjusted()
  std::optional<double> p_equivalence_adjusted;  ///< the same for "no meaningful difference"; nullopt without min_effect
  double smallest_p_holm;                        ///< p_holm if this result's p were the smallest possible
  std::size_t seeds_for_verdict;                 ///< fewer seeds than this cannot give any verdict in a family of this size
  /// Chances of 20, 50, 100 and 200 fresh seeds, when undecided or too few, from at least 2 seeds that are not all ties:
  /// chance_of_verdict() at alpha / m. By ranks the effect is that of the signed ranks, and "no meaningful difference" is not counted.
  /// If seeds split the same rows: of kEnoughSplits, from fewer than 20, by chance_of_splits() if it is at least alpha.
  std::vector<Chance> chances;
};

/// One judgement per result, in order. The family is all results, e.g. all variants against one reference on one
/// metric; if some result's options.comparisons is larger, that is m. Both claims of all comparisons together are wrong
/// anywhere with a chance of at most alpha. The rule:
/// - no meaningful difference: min_effect > 0 and its adjusted p < alpha, also if the difference is significant: it is known
///   to be too small to matter;
/// - too few seeds: even the smallest p that this number of seeds can give is not below alpha after correction;
/// - same: every seed gave the same value on both sides;
/// - better, worse: adjusted p < alpha, on the side of the test's own sum;
/// - undecided: everything else.
/// Throws if the results differ in alpha, and as seeds_for_any_verdict does.
std::vector<Judgement> judge(const std::vector<PairedResult>& family);

/// The verdict in one line, with the evidence in the metric's units (− is U+2212, intervals in brackets), e.g.
///   better: −0.031 [−0.044, −0.019], p = 0.0078 (Holm, 3 comparisons), 8 of 8 seeds
///   undecided: −0.010 [−0.037, +0.020], p = 0.43, 5 of 8 seeds; chance of a verdict if there is a
///     difference (overall): 20 fresh seeds 26 % (14 %), 50: 46 % (23 %), 100: 60 % (29 %), 200: 70 % (34 %)
///   too few seeds: with 5 the smallest possible p is 0.0625; at least 6 are needed
/// "k of n seeds" counts the seeds at which the variant won, or lost if the verdict is worse. Results by ranks show the
/// typical difference in place of the mean, log ratios as RatioText says it: better: −8.3 % [−12.1, −3.0], …
std::string verdict_sentence(const PairedResult& result, const Judgement& judgement, RatioForm form = RatioForm::percent);

/// Adjusted p values of comparisons that each make one or more claims, at most one of them false: "different" and "negligible" share
/// one level (closed testing, Marcus, Peritz & Gabriel 1976, by Bonferroni). With one claim each this is Holm's step-down procedure
/// (Holm 1979): rejecting below alpha keeps the chance of any false rejection at alpha under every dependence. A comparison leaves the
/// family only when all its claims are shown: after "different" alone, "negligible" may still be the false one and its share must not be
/// used again. A claim with p stands at alpha iff for every s ≤ m p < alpha/s or fewer than s comparisons have their `largest` p, over the
/// claims, at alpha/s or above: adjusted p = max over s of s · min(p, s-th largest of `largest`). `p`: of claims, any number. `largest`:
/// one per comparison. `comparisons` is m if larger: those without a p count as p = 1. Throws if a p is outside [0, 1].
std::vector<double> closed_adjusted(const std::vector<double>& p, std::vector<double> largest, std::size_t comparisons = 0);

}  // namespace ffn::stats
