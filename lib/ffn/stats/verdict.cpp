// Verdicts over a family of comparisons.
#include "ffn/stats/verdict.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/stats/unpaired.hpp"

namespace ffn::stats {
namespace {

constexpr std::size_t kPlans[] = {20, 50, 100, 200};
constexpr std::size_t kFewSplits = 20;  // from here on more splits of the same rows hardly help

/// The larger p of the claims that the result makes.
double largest_claim(const PairedResult& result, double p) { return std::max(p, result.p_equivalence.value_or(p)); }

Verdict decide(const PairedResult& result, const Judgement& judgement) {
  const double alpha = result.options.alpha;
  if (judgement.p_equivalence_adjusted && *judgement.p_equivalence_adjusted < alpha) return Verdict::no_meaningful_difference;
  if (!(judgement.smallest_p_holm < alpha)) return Verdict::too_few_seeds;
  if (is_same_with_every_seed(result)) return Verdict::same;
  // The sum that the test adds up has the sign of its mean over sd.
  if (judgement.p_holm < alpha && result.standardised_effect != 0.0)
    return result.standardised_effect > 0.0 ? Verdict::better : Verdict::worse;
  return Verdict::undecided;
}

std::vector<Chance> chances(const PairedResult& result, std::size_t comparisons) {
  std::vector<Chance> all;
  if (result.num_seeds < 2 || result.ties == result.num_seeds) return all;  // nothing seen that could be planned with
  if (std::isnan(result.standardised_effect)) return all;                   // squares that overflow
  const double alpha = result.options.alpha / static_cast<double>(comparisons);
  const bool has_margin = !is_of_ranks(result.test) && result.effect && result.options.min_effect > 0.0 && result.effect->sd > 0.0;
  const double margin = has_margin ? result.options.min_effect / result.effect->sd : 0.0;
  const Pilot pilot{result.num_seeds, result.standardised_effect};
  if (const double ratio = result.options.held_out_per_training; ratio > 0.0) {
    if (!result.effect || result.num_seeds >= kFewSplits || std::isinf(result.standardised_effect)) return all;
    const double chance = chance_of_splits(pilot, kEnoughSplits, alpha, ratio, margin);
    if (chance >= result.options.alpha) all.push_back({kEnoughSplits, chance, chance});
    return all;
  }
  for (const std::size_t n : kPlans) {
    const FreshChance chance = chance_of_verdict(pilot, n, alpha, margin);
    all.push_back({n, chance.if_different, chance.overall});
  }
  return all;
}

}  // namespace

bool is_same_with_every_seed(const PairedResult& result) {
  return result.ties == result.num_seeds && result.missing_variant < result.num_seeds;
}

std::vector<Judgement> judge(const std::vector<PairedResult>& family) {
  std::vector<double> p, largest;
  std::size_t comparisons = family.size();
  for (const PairedResult& result : family) {
    if (result.options.alpha != family.front().options.alpha)
      detail::fail("one family, two levels: alpha ", family.front().options.alpha, " and ", result.options.alpha);
    p.push_back(result.p);
    largest.push_back(largest_claim(result, result.p));
    comparisons = std::max(comparisons, result.options.comparisons);
  }
  const std::vector<double> adjusted = closed_adjusted(p, largest, comparisons);
  std::vector<double> equivalence;
  for (const PairedResult& result : family) equivalence.push_back(result.p_equivalence.value_or(result.p));
  const std::vector<double> equivalence_adjusted = closed_adjusted(equivalence, largest, comparisons);

  // Sorted once: of thousands of comparisons each is looked at with one value exchanged.
  std::vector<double> descending = largest;
  descending.resize(comparisons, 1.0);
  std::sort(descending.begin(), descending.end(), std::greater<>());
  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < family.size(); ++i) {
    const PairedResult& result = family[i];
    std::vector<double> at_best = descending;
    at_best.erase(std::lower_bound(at_best.begin(), at_best.end(), largest[i], std::greater<>()));
    const double best = largest_claim(result, result.smallest_p);
    at_best.insert(std::lower_bound(at_best.begin(), at_best.end(), best, std::greater<>()), best);
    Judgement judgement{};
    judgement.comparisons = comparisons;
    judgement.p_holm = adjusted[i];
    if (result.p_equivalence) judgement.p_equivalence_adjusted = equivalence_adjusted[i];
    judgement.smallest_p_holm = closed_adjusted({result.smallest_p}, at_best, comparisons).front();
    judgement.seeds_for_verdict = result.unpaired ? runs_for_any_verdict(result.options.alpha, comparisons)
                                                  : seeds_for_any_verdict(result.options.alpha, comparisons);
    judgement.verdict = decide(result, judgement);
    if (judgement.verdict == Verdict::undecided || judgement.verdict == Verdict::too_few_seeds)
      judgement.chances = chances(result, comparisons);
    judgements.push_back(judgement);
  }
  return judgements;
}

std::vector<double> closed_adjusted(const std::vector<double>& p, std::vector<double> largest, std::size_t comparisons) {
  for (const std::vector<double>* values : {&p, &std::as_const(largest)})
    for (std::size_t i = 0; i < values->size(); ++i)
      if (!((*values)[i] >= 0.0 && (*values)[i] <= 1.0)) detail::fail("p value ", i, " (", (*values)[i], ") must lie in [0, 1]");
  largest.resize(std::max(comparisons, largest.size()), 1.0);
  if (!std::is_sorted(largest.begin(), largest.end(), std::greater<>())) std::sort(largest.begin(), largest.end(), std::greater<>());
  std::vector<double> adjusted;
  for (const double claim : p) {
    double worst = 0.0;
    for (std::size_t s = 0; s < largest.size(); ++s) worst = std::max(worst, static_cast<double>(s + 1) * std::min(claim, largest[s]));
    adjusted.push_back(std::min(1.0, worst));
  }
  return adjusted;
}

}  // namespace ffn::stats
