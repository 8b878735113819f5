#include "ffn/compare/cautions.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

constexpr const char* kRate = "train.optimizer.lr";

constexpr const char* kOptimizer = "train.optimizer";

// True of keys whose values each may need a learning rate of their own.
bool has_its_rate(const std::string& key) { return key.rfind("model.", 0) == 0 || key == kOptimizer || key == "train.optimizer.kind"; }

}  // namespace

Failures failures_of_variant(const PairResult& pair) {
  return {pair.bad ? pair.bad->variant : pair.paired.missing_variant,
          pair.paired.unpaired ? pair.paired.unpaired->num_variant : pair.paired.num_seeds};
}

Failures failures_of_reference(const PairResult& pair) {
  return {pair.bad ? pair.bad->reference : pair.paired.missing_reference,
          pair.paired.unpaired ? pair.paired.unpaired->num_reference : pair.paired.num_seeds};
}

Failures failures_of(const Comparison& c, const std::string& value) {
  Failures all;
  for (const auto& facet : c.facets) {
    Failures here;
    for (const auto& pair : facet.pairs) {
      if (pair.value == value) here = failures_of_variant(pair);
      else if (pair.reference == value && failures_of_reference(pair).failed >= here.failed) here = failures_of_reference(pair);
    }
    all.failed += here.failed;
    all.runs += here.runs;
  }
  return all;
}

bool rests_on_skewed_mean(const PairResult& pair) {
  constexpr double kFar = 3.0;  // standard deviations from 0: no skew moves a mean so far
  const auto verdict = pair.judgement.verdict;
  const auto& effect = pair.paired.effect;
  if (!effect || (verdict != stats::Verdict::better && verdict != stats::Verdict::worse)) return false;
  return pair.paired.test != stats::PairedTest::corrected_t && stats::is_skewed(*effect) && std::abs(effect->value) <= kFar * effect->sd;
}

void note_skewed(Comparison& c) {
  std::vector<std::string> skewed;
  const auto look_at = [&](const PairResult& pair) {
    if (rests_on_skewed_mean(pair) && std::find(skewed.begin(), skewed.end(), pair.value) == skewed.end()) skewed.push_back(pair.value);
  };
  for_each_pair(c, [&](const Facet&, const PairResult& pair) { look_at(pair); });
  for (const auto& contrast : c.contrasts) look_at(contrast.pair);
  if (!skewed.empty()) add_note(note::kSkewed, {join(skewed)}, c);
}

void withhold_exact_verdicts(const std::vector<FoundRun>& runs, Comparison& c) {
  constexpr double kMatched = 1.011, kAll = 0.99;  // shares of a size, as model.ffn.match leaves them, and of all facts
  if (without_best(c.metric) != metric::kValBitsPerParam.name) return;
  std::map<std::string, double> most;  // by variant: bits per parameter of a layer that knows everything
  for (const auto& run : runs) {
    if (const auto* known = run.summary ? run.summary->find(metric::kValMostBitsPerParam.name) : nullptr)
      most[run.path.parent_path().string()] = known->final_value;
  }
  std::vector<std::string> at_ceiling, below_sizes;
  for_each_pair(c, [&](const Facet& facet, PairResult& pair) {
    const auto &a = *find_group(facet, pair.value), &b = *find_group(facet, pair.reference);
    if (a.values.empty() || b.values.empty()) return;
    const double of_a = most[a.runs.at(0).path.parent_path().string()], of_b = most[b.runs.at(0).path.parent_path().string()];
    const auto& effect = pair.paired.effect;
    if (!is_decided(pair) || !effect || !(of_a > 0 && of_b > 0)) return;
    const auto knows_all = [](const GroupResult& g, double all) {
      return *std::min_element(g.values.begin(), g.values.end()) >= kAll * all;
    };
    const double unequal = std::max(of_a, of_b) / std::min(of_a, of_b), level = std::max(*a.mean, *b.mean);
    const bool ceiling = knows_all(a, of_a) && knows_all(b, of_b);
    if (!ceiling && !(unequal <= kMatched && std::abs(effect->value) <= level * (unequal - 1))) return;
    pair.judgement.verdict = stats::Verdict::undecided;
    pair.judgement.chances.clear();
    (ceiling ? at_ceiling : below_sizes).push_back(shown_value(c, pair.value) + " and " + shown_value(c, pair.reference));
  });
  if (!at_ceiling.empty()) add_note(note::kAllFacts, {join(at_ceiling, "; ")}, c);
  if (!below_sizes.empty()) add_note(note::kBelowSizes, {join(below_sizes, "; ")}, c);
}

std::string rate_of_untuned(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, const std::string& by,
                            const std::string& size) {
  if (!has_its_rate(by) && !(by == "variant" && std::any_of(varying.begin(), varying.end(), has_its_rate))) return "";
  const auto rates = ordered_values(runs, kRate);
  if (rates.size() == 1 && runs[0].keys.count(kRate) > 0) return rates[0];
  if (!size.empty() && rates.size() > 1 && determines(runs, size, kRate)) {
    const auto sizes = ordered_values(runs, size);
    std::vector<std::string> of_sizes;
    std::vector<double> numbers;
    for (const auto& value : sizes) {
      of_sizes.push_back(
          value_of(*std::find_if(runs.begin(), runs.end(), [&](const FoundRun& r) { return value_of(r, size) == value; }), kRate));
      numbers.push_back(std::strtod(of_sizes.back().c_str(), nullptr));
    }
    const bool falls = std::is_sorted(numbers.rbegin(), numbers.rend());
    return (falls ? of_sizes.front() + " to " + of_sizes.back() : join(of_sizes)) + " by " + size.substr(size.rfind('.') + 1);
  }
  const bool of_optimizers = by.rfind(kOptimizer, 0) == 0 && by != kRate;
  return of_optimizers ? values_along(runs, by, kRate) : "";
}

}  // namespace ffn
