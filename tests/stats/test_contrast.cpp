// The test of a contrast: golden values of an enumeration of all sign patterns, written in Python (below), and its null rates in a family.
//
//   d = [...]; n = len(d); total = sum(d)
//   sums = [sum(-x if m >> i & 1 else x for i, x in enumerate(d)) for m in range(2**n)]
//   p = sum(abs(s) >= abs(total) - 1e-12 for s in sums) / 2**n
//   means = sorted(mean of the subset m of d for m in range(1, 2**n)); r = largest count with count/2**(n-1) < alpha
//   interval = [means[r - 1], means[2**n - 1 - r]]
#include <algorithm>
#include <cmath>

#include "ffn/stats/paired.hpp"
#include "ffn/stats/verdict.hpp"
#include "one_pair.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

TEST_CASE("a contrast has the p and the interval of an enumeration by hand") {
  CompareOptions options;
  options.resamples = 10;
  const auto result = compare_contrast({1.8, -0.4, 0.9, 2.7, 0.3, -1.1, 1.4, 0.6, 2.5, 0.8, -0.2, 1.1}, Direction::lower_is_better,
                                       PairedValues::difference, options);
  // Within the rounding of sums of a dozen numbers, from which the limits come.
  CHECK(result.p == Approx(0.0263671875).epsilon(1e-9));
  REQUIRE(result.effect);
  CHECK(result.effect->value == Approx(0.8666666666666667).epsilon(1e-9));
  CHECK(result.effect->interval.low == Approx(0.13999999999999999).epsilon(1e-9));
  CHECK(result.effect->interval.high == Approx(1.5999999999999999).epsilon(1e-9));
  CHECK(result.standardised_effect < 0);  // above 0 is worse where lower is better
}

TEST_CASE("a contrast of log ratios says so, and has no difference in the metric's units") {
  const auto result = compare_contrast({.1, .2, .3, .4, .5, .6}, Direction::lower_is_better, PairedValues::log_ratio, {});
  CHECK(result.values == PairedValues::log_ratio);
  CHECK_FALSE(result.difference);
  CHECK(result.p == 0.03125);
}

TEST_CASE("a contrast that is not finite is refused") {
  CHECK_THROWS(compare_contrast({.1, NAN, .3}, Direction::lower_is_better, PairedValues::difference, {}));
  CHECK_THROWS(compare_contrast({}, Direction::lower_is_better, PairedValues::difference, {}));
}

namespace {

// Three values at two facets, the same in each: all pairs of both, main effects and interactions, as one family.
bool any_verdict(std::size_t seeds, const simulate::Metric& metric, std::size_t index, SplitMix64& random) {
  std::vector<std::vector<std::vector<double>>> runs(2, std::vector<std::vector<double>>(3));
  for (std::size_t i = 0; i < seeds; ++i) {
    const double luck = simulate::normal(random);
    for (auto& facet : runs)
      for (auto& value : facet) value.push_back(*metric(luck, simulate::normal(random), random));
  }
  CompareOptions options;
  options.resamples = 10;
  options.seed = index;
  const auto outcomes = [](const std::vector<double>& values) { return std::vector<Outcome>(values.begin(), values.end()); };
  std::vector<PairedResult> family;
  for (const auto& facet : runs) {
    for (std::size_t reference = 0; reference < 3; ++reference)
      for (std::size_t value = reference + 1; value < 3; ++value)
        family.push_back(compare_paired(outcomes(facet[value]), outcomes(facet[reference]), Direction::lower_is_better, options));
  }
  for (std::size_t value = 1; value < 3; ++value) {
    std::vector<double> mean, change;
    for (std::size_t i = 0; i < seeds; ++i) {
      const double first = runs[0][value][i] - runs[0][0][i], second = runs[1][value][i] - runs[1][0][i];
      mean.push_back((first + second) / 2);
      change.push_back(second - first);
    }
    for (const auto* contrast : {&mean, &change})
      family.push_back(compare_contrast(*contrast, Direction::lower_is_better, PairedValues::difference, options));
  }
  const auto judgements = judge(family);
  return std::any_of(judgements.begin(), judgements.end(),
                     [](const Judgement& j) { return j.verdict == Verdict::better || j.verdict == Verdict::worse; });
}

}  // namespace

TEST_CASE("without a difference a family of all pairs and contrasts has any verdict in at most 5 % of studies", "[calibration]") {
  const std::size_t studies = simulate::num_studies(1000);
  const double bound = 0.05 + 3 * std::sqrt(0.05 * 0.95 / static_cast<double>(studies));
  for (const auto& [name, metric] :
       {std::pair<const char*, simulate::Metric>{"normal", simulate::normal_metric}, {"lognormal", simulate::lognormal_metric}}) {
    SplitMix64 random(11);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < studies; ++i) wrong += any_verdict(12, metric, i, random);
    const double share = static_cast<double>(wrong) / static_cast<double>(studies);
    simulate::print(std::string("any false verdict, all pairs and contrasts, ") + name, 12, share);
    CHECK(share <= bound);
  }
}
