// The scale of a comparison: what the rule chooses, that it is blind to signs, and bad runs.
#include <cmath>
#include <limits>
#include <utility>

#include "one_pair.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

/// d = +1 … +6 in favour of the variant on the scale of `kind`, with an outlier of `largest`.
std::pair<std::vector<Outcome>, std::vector<Outcome>> losses(double largest) {
  std::vector<Outcome> variant, reference;
  for (const double d : {1.0, 2.0, 3.0, 4.0, 5.0, largest}) {
    variant.push_back(1.0);
    reference.push_back(std::exp(d));
  }
  return {variant, reference};
}

}  // namespace

TEST_CASE("the scale follows from the kind of metric and says why") {
  const std::vector<Outcome> a{1.0, 2.0, 3.0}, b{1.5, 2.5, 2.5}, with_zero{0.0, 2.0, 3.0}, gap{1.0, kDiverged, 3.0};
  const Scale loss = choose_scale(MetricKind::minimised, a, b);
  CHECK(loss.values == PairedValues::log_ratio);
  CHECK(loss.test == PairedTest::sign_flip_of_mean);
  CHECK(loss.reason == "log ratio, because all values of the loss are positive");

  const Scale zero = choose_scale(MetricKind::minimised, a, with_zero);
  CHECK(zero.values == PairedValues::difference);
  CHECK(zero.reason == "difference, because not all values are positive");

  const Scale accuracy = choose_scale(MetricKind::maximised, a, b);
  CHECK(accuracy.values == PairedValues::difference);
  CHECK(accuracy.test == PairedTest::sign_flip_of_mean);

  CHECK(choose_scale(MetricKind::time_to_target, a, b).test == PairedTest::signed_rank);
  const Scale missing = choose_scale(MetricKind::minimised, gap, b);
  CHECK(missing.test == PairedTest::signed_rank);
  CHECK(missing.reason == "ranks of the log ratio, because 1 of 6 runs has no value");
  CHECK_THROWS_WITH(choose_scale(MetricKind::minimised, a, {1.0}), "scale: 3 runs of the variant against 1 of the reference");
}

TEST_CASE("a largest difference of more than 15 times the median one moves the test to ranks") {
  const auto [v14, r14] = losses(3.5 * 14.9);
  CHECK(choose_scale(MetricKind::minimised, v14, r14).test == PairedTest::sign_flip_of_mean);
  const auto [v20, r20] = losses(3.5 * 20);
  const Scale heavy = choose_scale(MetricKind::minimised, v20, r20);
  CHECK(heavy.test == PairedTest::signed_rank);
  CHECK(heavy.reason == "ranks of the log ratio, because the largest difference is 20 times the median one");
  CHECK(tail_rule({0, 0, 0, 0, 0, 1, 2}) == PairedTest::sign_flip_of_mean);  // zeros are left out
  CHECK(tail_rule({0, 0}) == PairedTest::sign_flip_of_mean);
  CHECK(tail_rule({1, 2, std::nan("")}) == PairedTest::signed_rank);
}

TEST_CASE("the choice of the scale does not change when the labels of pairs are swapped") {
  SplitMix64 random(5);
  std::size_t by_ranks = 0, by_log = 0;
  for (int study = 0; study < 2000; ++study) {
    const auto kind = study % 2 == 0 ? MetricKind::minimised : MetricKind::maximised;
    std::vector<Outcome> variant, reference;
    for (std::size_t i = 0; i < 12; ++i)
      for (auto* side : {&variant, &reference}) {
        const double value = std::exp(simulate::normal(random)) * (random.index(20) == 0 ? 100.0 : 1.0) - (study % 5 == 0 ? 0.2 : 0.0);
        side->push_back(random.index(200) == 0 ? kDiverged : Outcome(value));
      }
    const Scale scale = choose_scale(kind, variant, reference);
    by_ranks += scale.test == PairedTest::signed_rank;
    by_log += scale.values == PairedValues::log_ratio;
    for (int swaps = 0; swaps < 5; ++swaps) {
      for (std::size_t i = 0; i < variant.size(); ++i)
        if (random.index(2) == 0) std::swap(variant[i], reference[i]);
      const Scale again = choose_scale(kind, variant, reference);
      CHECK(again.values == scale.values);
      CHECK(again.test == scale.test);
      CHECK(again.reason == scale.reason);
      const auto d = advantages(kind, scale.values, variant, reference);
      CHECK(test_rule(kind)(d) == scale.test);
    }
  }
  CHECK(by_ranks > 100);
  CHECK(by_ranks < 1900);
  CHECK(by_log > 100);
}

TEST_CASE("advantages are positive where the variant is better") {
  CHECK(advantages(MetricKind::minimised, PairedValues::log_ratio, {1.0, 2.0}, {std::exp(1.0), 2.0}) == std::vector<double>{1, 0});
  CHECK(advantages(MetricKind::minimised, PairedValues::difference, {1.0}, {3.0}) == std::vector<double>{2});
  CHECK(advantages(MetricKind::maximised, PairedValues::difference, {1.0}, {3.0}) == std::vector<double>{-2});
  CHECK(advantages(MetricKind::time_to_target, PairedValues::difference, {100.0}, {300.0}) == std::vector<double>{200});
  for (const auto kind : {MetricKind::minimised, MetricKind::maximised}) {
    const auto d = advantages(kind, PairedValues::difference, {kDiverged, 1.0, kDiverged}, {1.0, kDiverged, kDiverged});
    CHECK(d[0] == -std::numeric_limits<double>::infinity());
    CHECK(d[1] == std::numeric_limits<double>::infinity());
    CHECK(std::isnan(d[2]));
  }
}

TEST_CASE("bad runs are more than ten times the pooled median, or without a value") {
  const std::vector<Outcome> variant{1.0, 1.1, 50.0, 0.9, kDiverged, 1.0}, reference{1.0, 0.9, 40.0, 1.2, 1.1, 1.3};
  const BadRuns bad = bad_runs(variant, reference);
  CHECK(bad.variant == 2);
  CHECK(bad.reference == 1);
  CHECK(bad.only_variant == 1);
  CHECK(bad.only_reference == 0);
  CHECK(bad.limit == Approx(10 * 1.1));
  CHECK(bad.p == 1);
  const BadRuns zero = bad_runs({0.0, 0.0, 1.0}, {0.0, 0.0, kDiverged});
  CHECK(zero.variant == 0);
  CHECK(zero.reference == 1);
}

TEST_CASE("where half of the values are 0 only a missing one is bad, also where the median is between 0 and another") {
  const BadRuns half = bad_runs({0.0, 0.0, 0.0, 0.0}, {0.01, 0.2, 0.3, 0.4});  // the median is 0.005
  CHECK(half.reference == 0);
  CHECK(half.limit == std::numeric_limits<double>::infinity());
  const BadRuns fewer = bad_runs({0.0, 0.0, 0.0, 0.01}, {0.01, 0.2, 0.3, 0.4});
  CHECK(fewer.limit == Approx(0.1));
  CHECK(fewer.reference == 3);
}

TEST_CASE("McNemar's p is that of a binomial with one half") {
  CHECK(mcnemar_p(0, 0) == 1);
  CHECK(mcnemar_p(0, 6) == Approx(2.0 / 64));
  CHECK(mcnemar_p(6, 0) == Approx(2.0 / 64));
  CHECK(mcnemar_p(3, 3) == 1);
  CHECK(mcnemar_p(2, 10) == Approx(0.03857421875));  // 2 (1 + 12 + 66) / 4096
}

TEST_CASE("after the choice of a scale a verdict without a difference comes in at most 5 % of studies", "[calibration]") {
  const std::size_t studies = simulate::num_studies(2000);
  for (const std::size_t n : {8u, 20u}) {
    SplitMix64 random(n);
    std::size_t rejected = 0, by_ranks = 0;
    for (std::size_t study = 0; study < studies; ++study) {
      std::vector<Outcome> variant, reference;
      for (std::size_t i = 0; i < n; ++i)
        for (auto* side : {&variant, &reference})
          side->push_back(std::exp(0.3 * simulate::normal(random)) * (random.index(5) == 0 ? 100.0 : 1.0));
      const Scale scale = choose_scale(MetricKind::minimised, variant, reference);
      CompareOptions options;
      options.resamples = 10;
      by_ranks += scale.test == PairedTest::signed_rank;
      rejected += compare_paired(variant, reference, Direction::lower_is_better, scale, options).p < .05;
    }
    const auto num = static_cast<double>(studies);
    simulate::print("null rate after the choice, a fifth of runs x 100", n, static_cast<double>(rejected) / num);
    simulate::print("of these by ranks", n, static_cast<double>(by_ranks) / num);
    CHECK(static_cast<double>(rejected) / num <= .05 + 3 * std::sqrt(.05 * .95 / num));
  }
}
