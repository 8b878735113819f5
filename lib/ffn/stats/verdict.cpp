// Verdicts over a family of comparisons. Depends on the rest of ffn/stats only.
#include "ffn/stats/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/multiplicity.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"

namespace ffn::stats {
namespace {

bool by_ranks(const PairedResult& result) { return result.test == PairedTest::signed_rank; }

/// +1 or −1 if the interval that belongs to the test says better or worse; 0 if it leaves both open.
int side_of_interval(const PairedResult& result) {
  if (by_ranks(result)) {
    if (!result.improvement.interval.excludes(0.5)) return 0;
    return result.improvement.paired > 0.5 ? 1 : -1;
  }
  if (!result.difference->interval.excludes(0.0)) return 0;
  return (result.difference->mean > 0.0) == (result.direction == Direction::higher_is_better) ? 1 : -1;
}

/// +1 or −1: the side on which the test statistic lies.
int side_of_test(const PairedResult& result) { return (result.standardised_effect > 0.0) - (result.standardised_effect < 0.0); }

bool equivalent(const PairedResult& result) {
  const double limit = result.options.min_effect;
  return limit > 0.0 && result.difference && result.difference->equivalence_interval.within(limit);
}

Verdict decide(const PairedResult& result, double p_holm, double smallest_p_holm) {
  const double alpha = result.options.alpha;
  if (!(smallest_p_holm < alpha)) return Verdict::too_few_seeds;
  if (equivalent(result)) return Verdict::no_meaningful_difference;
  const int side = side_of_interval(result);
  if (p_holm < alpha && side != 0 && side == side_of_test(result)) return side > 0 ? Verdict::better : Verdict::worse;
  return Verdict::undecided;
}

/// (P(better) − 1/2) / sd of the seeds' scores 1, 1/2, 0; ±∞ if one side won every seed.
double standardised_improvement(const PairedResult& result) {
  const auto n = static_cast<double>(result.num_seeds), p = result.improvement.paired;
  const double mean_square = (static_cast<double>(result.wins) + static_cast<double>(result.ties) / 4.0) / n;
  const double variance = (mean_square - p * p) * n / (n - 1.0);
  if (p == 0.5) return 0.0;
  return (p - 0.5) / std::sqrt(std::max(0.0, variance));
}

/// What has to be detected: by ranks, both the test and P(better) have to decide, so the harder of the two. The t test
/// on signed ranks stands in for the signed-rank test (Conover & Iman 1981).
double effect_to_detect(const PairedResult& result) {
  const double of_test = std::abs(result.standardised_effect);
  return by_ranks(result) ? std::min(of_test, std::abs(standardised_improvement(result))) : of_test;
}

std::optional<std::size_t> seeds_to_decide(const PairedResult& result, const Judgement& judgement) {
  const double alpha = result.options.alpha;
  auto needed = seeds_for_effect(effect_to_detect(result), alpha / static_cast<double>(judgement.comparisons));
  if (result.difference && result.options.min_effect > 0.0) {
    const MeanDifference& d = *result.difference;
    const auto equivalence = seeds_for_equivalence(d.mean, d.sd, result.options.min_effect, alpha);
    if (equivalence && (!needed || *equivalence < *needed)) needed = equivalence;
  }
  if (needed) needed = std::max({*needed, result.num_seeds + 1, judgement.seeds_for_verdict});
  return needed;
}

}  // namespace

std::vector<Judgement> judge(const std::vector<PairedResult>& family) {
  std::vector<double> p;
  std::size_t comparisons = family.size();
  for (const PairedResult& result : family) {
    if (result.options.alpha != family.front().options.alpha)
      detail::fail("one family, two levels: alpha ", family.front().options.alpha, " and ", result.options.alpha);
    p.push_back(result.p);
    comparisons = std::max(comparisons, result.options.comparisons);
  }
  const std::vector<double> adjusted = holm_adjusted(p, comparisons);

  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < family.size(); ++i) {
    const PairedResult& result = family[i];
    std::vector<double> at_best = p;
    at_best[i] = result.smallest_p;
    Judgement judgement{};
    judgement.comparisons = comparisons;
    judgement.p_holm = adjusted[i];
    judgement.smallest_p_holm = holm_adjusted(at_best, comparisons)[i];
    judgement.seeds_for_verdict = seeds_for_any_verdict(result.options.alpha, comparisons);
    judgement.verdict = decide(result, judgement.p_holm, judgement.smallest_p_holm);
    if (judgement.verdict == Verdict::undecided) judgement.seeds_to_decide = seeds_to_decide(result, judgement);
    judgements.push_back(judgement);
  }
  return judgements;
}

}  // namespace ffn::stats
