// Seeds until decided: error rates over all interim analyses. The large version, 10,000 studies per family size:
//   FFN_STUDIES=10000 test_stats "[sequential]"
#include <algorithm>
#include <cmath>

#include "ffn/stats/sequential.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

namespace {

using Noise = double (*)(SplitMix64&);
double normal_noise(SplitMix64& random) { return simulate::normal(random); }
double rounded_noise(SplitMix64& random) { return std::round(simulate::normal(random)); }
double heavy_noise(SplitMix64& random) { return std::exp(simulate::normal(random)); }

struct Rates {
  double wrong, decided, seeds;
};

/// Families of variants against a shared reference, until decided or at the last maximum. Effects and margin are in sd of the differences
/// of normal noise. 9,999 paths, drawn anew for every study: the level is kept for any number of paths.
Rates check_rates(const std::string& what, const std::vector<double>& effects, double margin, Noise noise, std::size_t usual_studies,
                  const std::vector<std::size_t>& maxima = {50}) {
  const std::size_t maximum = maxima.back();
  const std::size_t studies = simulate::num_studies(usual_studies);
  SplitMix64 random(7 + effects.size());
  double wrong = 0, decided = 0, seeds = 0;
  for (std::size_t study = 0; study < studies; ++study) {
    std::vector<std::vector<double>> d(effects.size());
    for (std::size_t seed = 0; seed < maximum; ++seed) {
      const double reference = noise(random);
      for (std::size_t i = 0; i < d.size(); ++i) d[i].push_back((noise(random) - reference) / std::sqrt(2.0) + effects[i]);
    }
    SequentialDesign plan;
    plan.min_effect = margin;
    plan.maxima = maxima;
    plan.paths = SignPaths::drawn(9'999, study);
    const auto verdicts = judge_sequentially(d, plan);
    bool any_wrong = false;
    std::size_t last = 0;  // analysis at which the last comparison was decided
    for (std::size_t i = 0; i < effects.size(); ++i) {
      any_wrong = any_wrong || (effects[i] == 0.0 && verdicts[i].different) || (std::abs(effects[i]) >= margin && verdicts[i].negligible);
      last = std::max(last, std::min(verdicts[i].different.value_or(maximum + 1), verdicts[i].negligible.value_or(maximum + 1)));
    }
    wrong += any_wrong;
    decided += last <= maximum;
    seeds += static_cast<double>(std::min(last, maximum));
  }
  const auto num = static_cast<double>(studies);
  simulate::print("sequential, any wrong claim, " + what, maximum, wrong / num);
  simulate::print("  decided", maximum, decided / num);
  simulate::print("  mean number of seeds", maximum, seeds / num);
  CHECK(wrong / num <= .05 + 3 * std::sqrt(.05 * .95 / num));
  return {wrong / num, decided / num, seeds / num};
}

}  // namespace

TEST_CASE("over all interim analyses a family without differences has a verdict in at most 5 % of studies", "[calibration][sequential]") {
  check_rates("one null, normal", {0}, 0, normal_noise, 300);
  check_rates("one null, rounded", {0}, 0, rounded_noise, 300);
  check_rates("two nulls, heavy tails", {0, 0}, 0, heavy_noise, 100);
  check_rates("four nulls, normal", {0, 0, 0, 0}, 0, normal_noise, 100);
  check_rates("one null, maximum raised from 50", {0}, 0, normal_noise, 100, {50, 100});
}

TEST_CASE("a difference of half a standard deviation is found by 50 seeds in 88 % of studies, after 32 seeds on average",
          "[calibration][sequential]") {
  const std::size_t usual = 200;
  const Rates rates = check_rates("half a sd", {.5}, 0, normal_noise, usual);
  const auto num = static_cast<double>(simulate::num_studies(usual));
  CHECK(std::abs(rates.decided - .88) <= 3 * std::sqrt(.88 * .12 / num) + .01);  // the reference rounds to .01
  CHECK(std::abs(rates.seeds - 32) <= 3 * 15 / std::sqrt(num) + .5);             // sd of the number of seeds: below 15
}

TEST_CASE("over all interim analyses a family with a margin makes a wrong claim in at most 5 % of studies", "[calibration][sequential]") {
  check_rates("two at the margin", {.5, .5}, .5, normal_noise, 80);
  check_rates("two nulls, two at the margin", {0, 0, .5, .5}, .5, normal_noise, 50);
}
