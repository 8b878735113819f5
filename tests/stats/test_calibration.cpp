// How often the verdicts are wrong when nothing differs, and how often they are found when something does.
// Simulated, seeded, with the resamples cut to 1 000 to stay within seconds; the measured shares are printed.
#include <iomanip>
#include <iostream>
#include <string>

#include "ffn/stats/verdict.hpp"
#include "one_pair.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

constexpr std::size_t kStudies = 1000;

CompareOptions quick(std::size_t study_index) {
  CompareOptions options;
  options.resamples = 1000;
  options.seed = study_index;
  return options;
}

/// Three Monte-Carlo standard errors above 5 %: 0.0707. A method that uses its 5 % up entirely fails one such check with
/// a chance of 0.1 %; the seeds are fixed, so that this was decided once.
const double kBound = 0.05 + 3 * std::sqrt(0.05 * 0.95 / kStudies);

bool is_difference(Verdict verdict) { return verdict == Verdict::better || verdict == Verdict::worse; }

using simulate::print;

/// Share of simulated studies in which `happens(study index, generator)`.
template <class Event>
double share_of_studies(std::uint64_t seed, Event happens) {
  SplitMix64 random(seed);
  std::size_t count = 0;
  for (std::size_t i = 0; i < kStudies; ++i)
    if (happens(i, random)) ++count;
  return static_cast<double>(count) / kStudies;
}

PairedResult compare_outcomes(const simulate::Study& study, const CompareOptions& options) {
  return compare_paired(study.variant, study.reference, kLower, options);
}

/// A budget at the median of the times: about half of the runs never hit.
PairedResult compare_times(const simulate::Study& study, const CompareOptions& options) {
  return compare_hits(simulate::hits(study.variant, 1.0), simulate::hits(study.reference, 1.0), options).paired;
}

/// E min(e^{Z/2}, horizon), Z standard normal: e^{1/8} Φ(2 ln h − 1/2) + h Φ(−2 ln h).
double restricted_lognormal_mean(double horizon) {
  const auto cdf = [](double z) { return std::erfc(-z / std::sqrt(2.0)) / 2.0; };
  const double z = 2.0 * std::log(horizon);
  return std::exp(0.125) * cdf(z - 0.5) + horizon * cdf(-z);
}

}  // namespace

TEST_CASE("without a difference better or worse is said in at most 5 % of studies, whatever the noise", "[calibration]") {
  struct Noise {
    const char* what;
    std::uint64_t seed;
    simulate::Metric metric;
    decltype(&compare_outcomes) compare;
  };
  for (const auto& [what, seed, metric, compare] : {
           Noise{"normal noise", 100, simulate::normal_metric, compare_outcomes},
           Noise{"rounded to whole standard deviations", 200, simulate::rounded_metric, compare_outcomes},
           Noise{"lognormal noise", 300, simulate::lognormal_metric, compare_outcomes},
           // Prints 0.067 of the studies with n = 10, by chance: 40 000 studies give 0.046, and 0.048 with n = 20.
           Noise{"one run in ten diverges", 400, simulate::sometimes_diverging_metric, compare_outcomes},
           Noise{"hits, half of the runs never", 500, simulate::lognormal_metric, compare_times},
       }) {
    for (const std::size_t n : {6u, 10u, 16u}) {
      const double share = share_of_studies(seed + n, [&, of = metric, by = compare](std::size_t i, SplitMix64& random) {
        return is_difference(judge({by(simulate::study(n, of, random), quick(i))}).front().verdict);
      });
      print(std::string("false verdicts, ") + what, n, share);
      CHECK(share <= kBound);
    }
  }
}

TEST_CASE("without a difference a family of four comparisons has any verdict in at most 5 % of studies", "[calibration]") {
  for (const std::size_t n : {10u, 14u}) {
    const double share = share_of_studies(n, [&](std::size_t i, SplitMix64& random) {
      const simulate::Study first = simulate::study(n, simulate::normal_metric, random);
      std::vector<PairedResult> family{compare_outcomes(first, quick(i))};
      while (family.size() < 4) {  // further variants against the same reference
        const simulate::Study other = simulate::study(n, simulate::normal_metric, random);
        family.push_back(compare_outcomes({other.variant, first.reference}, quick(i)));
      }
      for (const Judgement& judgement : judge(family))
        if (is_difference(judgement.verdict)) return true;
      return false;
    });
    print("any false verdict in a family of four", n, share);
    CHECK(share <= kBound);
  }
}

TEST_CASE("a difference as large as the margin is called meaningless in at most 5 % of studies", "[calibration]") {
  const double margin = 4.0;  // of the order of three standard deviations of the differences: only one side can fail
  const simulate::Metric metric = simulate::normal_metric;
  for (const std::size_t n : {6u, 10u, 16u}) {
    const double share = share_of_studies(n, [&](std::size_t i, SplitMix64& random) {
      simulate::Study study = simulate::study(n, metric, random);
      for (Outcome& outcome : study.variant) *outcome += margin;
      CompareOptions options = quick(i);
      options.min_effect = margin;
      return judge({compare_outcomes(study, options)}).front().verdict == Verdict::no_meaningful_difference;
    });
    print("false equivalence at the margin", n, share);
    CHECK(share <= kBound);
  }
}

// "At most 5 %" does not cover equal means of differences that are not symmetric. Verdicts come too often; the warning finds most of
// them at 20 seeds and nearly all at 50, and cannot find a failure that no seed has shown. Ranks would be wrong about the mean more often.
TEST_CASE("false verdicts on means of skewed differences come with the warning where there are seeds enough to see the skew",
          "[calibration]") {
  struct Noise {
    const char* name;
    double (*difference)(SplitMix64&);
  };
  const Noise noises[] = {
      {"lognormal, mean 0", [](SplitMix64& random) { return std::exp(simulate::normal(random)) - std::exp(.5); }},
      {"better with 90 % of seeds, failing with 10 %", [](SplitMix64& random) { return random.index(10) == 0 ? -.9 : .1; }}};
  for (const auto& noise : noises) {
    for (const std::size_t n : {6u, 10u, 20u, 50u}) {
      SplitMix64 random(n);
      const std::size_t studies = n == 50 ? 300 : kStudies;  // beyond 20 seeds a test draws its flips, which takes long
      std::size_t wrong = 0, plain = 0, by_ranks = 0;
      for (std::size_t i = 0; i < studies; ++i) {
        std::vector<Outcome> variant, reference(n, 0.0);
        for (std::size_t k = 0; k < n; ++k) variant.push_back(-noise.difference(random));
        const auto by = [&](PairedTest test) {
          return compare_paired(variant, reference, kLower, {PairedValues::difference, test, ""}, quick(i));
        };
        const auto result = by(PairedTest::sign_flip_of_mean);
        wrong += result.p < .05;
        plain += result.p < .05 && !is_skewed(*result.effect);
        by_ranks += by(PairedTest::signed_rank).p < .05;
      }
      const auto share = [&](std::size_t count) { return static_cast<double>(count) / static_cast<double>(studies); };
      print(std::string("wrong, ") + noise.name, n, share(wrong));
      print("  without the warning", n, share(plain));
      print("  by ranks", n, share(by_ranks));
      if (n == 50) CHECK(share(plain) < .02);
      if (n >= 20) CHECK(by_ranks > wrong);
    }
  }
  for (const std::size_t n : {6u, 20u}) {
    const double warned = share_of_studies(n, [&](std::size_t i, SplitMix64& random) {
      return is_skewed(*compare_outcomes(simulate::study(n, simulate::normal_metric, random), quick(i)).effect);
    });
    print("normal differences that are called skewed", n, warned);
    CHECK(warned < .15);
  }
}

TEST_CASE("a difference of one standard deviation is found by 20 seeds with at least 80 % power", "[calibration]") {
  const double shift = std::sqrt(2.0);  // the sd of the difference of two standard normal noises
  const auto found = [&](bool as_hits) {
    return share_of_studies(1, [&](std::size_t i, SplitMix64& random) {
      simulate::Study study = simulate::study(20, simulate::normal_metric, random);
      for (Outcome& outcome : study.variant) *outcome -= shift;
      if (as_hits)  // the same order on the scale of times; a quarter of the reference's runs never hits
        for (auto* side : {&study.variant, &study.reference})
          for (Outcome& outcome : *side) outcome = std::exp(*outcome);
      const PairedResult result =
          as_hits ? compare_hits(simulate::hits(study.variant, 2.6), simulate::hits(study.reference, 2.6), quick(i)).paired
                  : compare_outcomes(study, quick(i));
      return judge({result}).front().verdict == Verdict::better;
    });
  };
  const double by_mean = found(false), by_hits = found(true);
  print("power, one sd of the paired differences", 20, by_mean);
  print("power, the same as hits, a quarter never", 20, by_hits);
  CHECK(by_mean >= 0.8);
  CHECK(by_hits >= 0.8);
}

TEST_CASE("the planned number of seeds decides about as often as planned", "[calibration]") {
  const std::size_t n = 15;  // for a power of 80 % at an effect of 0.8
  const double share = share_of_studies(2, [&](std::size_t i, SplitMix64& random) {
    simulate::Study study = simulate::study(n, simulate::normal_metric, random);
    for (Outcome& outcome : study.variant) *outcome -= 0.8 * std::sqrt(2.0);
    return judge({compare_outcomes(study, quick(i))}).front().verdict == Verdict::better;
  });
  print("power at the planned number of seeds, d_z = 0.8", n, share);
  CHECK(share >= 0.8 - 3 * std::sqrt(0.8 * 0.2 / kStudies));
  CHECK(share <= 0.9);
}

TEST_CASE("seven differences as large as the margin are called meaningless in at most 5 % of families", "[calibration]") {
  const double margin = 4.0;  // nearly three sd of the differences: each of the seven uses up its share
  const double share = share_of_studies(3, [&](std::size_t i, SplitMix64& random) {
    CompareOptions options = quick(i);
    options.min_effect = margin;
    options.resamples = 10;
    std::vector<PairedResult> family;
    while (family.size() < 7) {
      simulate::Study study = simulate::study(12, simulate::normal_metric, random);
      for (Outcome& outcome : study.variant) *outcome += margin;
      family.push_back(compare_outcomes(study, options));
    }
    for (const Judgement& judgement : judge(family))
      if (judgement.verdict == Verdict::no_meaningful_difference) return true;
    return false;
  });
  print("any false equivalence in a family of seven at the margin", 12, share);
  CHECK(share <= kBound);
}

TEST_CASE("a family of nulls and margins is wrong anywhere in at most 5 % of studies", "[calibration]") {
  const double margin = 2.0;
  const double share = share_of_studies(4, [&](std::size_t i, SplitMix64& random) {
    CompareOptions options = quick(i);
    options.min_effect = margin;
    options.resamples = 10;
    std::vector<PairedResult> family;
    for (const double shift : {0.0, 0.0, margin, margin}) {
      simulate::Study study = simulate::study(16, simulate::normal_metric, random);
      for (Outcome& outcome : study.variant) *outcome += shift;
      family.push_back(compare_outcomes(study, options));
    }
    const std::vector<Judgement> judgements = judge(family);
    return is_difference(judgements[0].verdict) || is_difference(judgements[1].verdict) ||
           judgements[2].verdict == Verdict::no_meaningful_difference || judgements[3].verdict == Verdict::no_meaningful_difference;
  });
  print("any wrong claim, two nulls and two at the margin", 16, share);
  CHECK(share <= kBound);
}

// ± 1.96 standard errors covers 86 % at 6 runs.
TEST_CASE("intervals of restricted means cover in 94 % of studies", "[calibration]") {
  for (const std::size_t n : {6u, 10u}) {
    const double horizon = 2.0, truth = restricted_lognormal_mean(horizon);
    const double share = share_of_studies(n, [&](std::size_t, SplitMix64& random) {
      std::vector<Outcome> times;
      for (std::size_t i = 0; i < n; ++i) times.push_back(std::exp(0.5 * simulate::normal(random)));
      const RestrictedMean restricted = restricted_mean(kaplan_meier(simulate::hits(times, horizon)), horizon);
      return !restricted_mean_interval(restricted, n, .95).excludes(truth);
    });
    print("coverage of the restricted mean, a twelfth censored", n, share);
    CHECK(share >= 0.94 - 3 * std::sqrt(0.05 * 0.95 / kStudies));
  }
}
