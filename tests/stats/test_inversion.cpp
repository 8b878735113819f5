// Intervals that invert a test: golden values, agreement with the test, coverage.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "ffn/stats/inversion.hpp"
#include "ffn/stats/permutation.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

std::vector<double> first(std::size_t n) { return {kD.begin(), kD.begin() + static_cast<std::ptrdiff_t>(n)}; }

/// As compare_paired asks for it.
TypicalDifference typical(const std::vector<double>& d, double alpha = 0.05) {
  std::vector<double> ties = d;
  for (double& value : ties)
    if (std::isnan(value)) value = 0.0;
  return typical_difference(d, signed_rank_test(ties).p, alpha);
}

void check_limits(const Interval& interval, double low, double high) {
  CHECK(interval.low == Approx(low).margin(1e-9));
  CHECK(interval.high == Approx(high).margin(1e-9));
}

/// All means of subsets, one by one.
Interval sign_flip_interval_by_definition(const std::vector<double>& d, double alpha) {
  const unsigned num_patterns = 1u << d.size();
  std::vector<double> means;
  for (unsigned subset = 1; subset < num_patterns; ++subset) {
    double sum = 0.0, size = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i)
      if ((subset >> i) & 1u) {
        sum += d[i];
        size += 1.0;
      }
    means.push_back(sum / size);
  }
  std::sort(means.begin(), means.end());
  const auto r = static_cast<std::size_t>(std::floor(alpha * num_patterns / 2));
  return {means[r - 1], means[num_patterns - r - 1], 1 - alpha};
}

}  // namespace

TEST_CASE("intervals agree with the golden values") {
  const std::vector<double> six{.021, .034, .018, .040, .029, .012}, outlier{1.8, -.4, .9, 2.7, .3, -1.1, 1.4, .6, 12.5, .8, -.2, 1.1};
  check_limits(sign_flip_interval(six, .05), .012, .040);
  check_limits(sign_flip_interval(first(8), .05), -.04 / 3, .94 / 3);
  check_limits(sign_flip_interval(outlier, .05), .14, 3.975);
  check_limits(sign_flip_interval(first(16), .05), .11, .28375);

  check_limits(typical(six).interval, .012, .040);
  CHECK(typical(six).value == Approx(.026));
  check_limits(typical(first(8)).interval, -.015, .315);
  CHECK(typical(first(8)).value == Approx(.16));
  check_limits(typical(outlier).interval, .10, 2.25);
  CHECK(typical(outlier).value == Approx(.85));
  check_limits(typical(first(16)).interval, .11, .295);
  CHECK(typical(first(16)).value == Approx(.205));
}

TEST_CASE("the sign-flip interval is made of order statistics of the means of subsets") {
  SplitMix64 random(3);
  for (std::size_t n = 6; n <= 12; ++n) {
    std::vector<double> d(n);
    for (double& value : d) value = std::exp(simulate::normal(random)) - 1.0;
    const Interval interval = sign_flip_interval(d, .05), expected = sign_flip_interval_by_definition(d, .05);
    check_limits(interval, expected.low, expected.high);
    CHECK(interval.level == Approx(.95));
  }
}

TEST_CASE("without ties the rank interval has Wilcoxon's tabulated rank") {
  const std::size_t n[] = {6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 50}, rank[] = {1, 3, 4, 6, 9, 14, 26, 53, 90, 138, 435};
  SplitMix64 random(4);
  for (std::size_t row = 0; row < std::size(n); ++row) {
    std::vector<double> d(n[row]), averages;
    for (double& value : d) value = simulate::normal(random);
    for (std::size_t i = 0; i < d.size(); ++i)
      for (std::size_t j = i; j < d.size(); ++j) averages.push_back((d[i] + d[j]) / 2);
    std::sort(averages.begin(), averages.end());
    const Interval interval = typical_difference(d, 1.0, .05).interval;  // p = 1: nothing to say about 0
    INFO(n[row]);
    check_limits(interval, std::min(0.0, averages[rank[row] - 1]), std::max(0.0, averages[averages.size() - rank[row]]));
  }
}

TEST_CASE("five seeds have no interval") {
  for (const Interval& interval : {sign_flip_interval(first(5), .05), typical(first(5)).interval}) {
    CHECK(interval.unbounded());
    CHECK_FALSE(interval.excludes(0));
  }
  CHECK_FALSE(sign_flip_interval({1, 1, 1, 1, 1, 2}, .05).unbounded());
}

TEST_CASE("an interval excludes 0 exactly when its test rejects, with ties, zeros and missing runs") {
  SplitMix64 random(9);
  std::size_t rejected = 0, open = 0;
  for (int study = 0; study < 3000; ++study) {
    const std::size_t n = study < 2900 ? 5 + random.index(8) : 21 + random.index(40);
    const double shift = static_cast<double>(random.index(3)), grid = study % 3 == 0 ? 1.0 : 0.1;
    std::vector<double> d(n), ranked(n);
    for (std::size_t i = 0; i < n; ++i) {
      d[i] = grid * std::round((simulate::normal(random) + shift) / grid);  // tenths: their sums tie on paper only
      const std::size_t missing = random.index(12);
      ranked[i] = missing == 0 ? kInfinity : missing == 1 ? -kInfinity : missing == 2 ? kNone : d[i];
    }
    const double p = sign_flip_test(d, 1).p, alpha = study % 2 == 0 ? .05 : .1;
    INFO(study);
    CHECK(sign_flip_interval(d, alpha, 1).excludes(0) == (p < alpha));
    std::vector<double> ties = ranked;
    for (double& value : ties)
      if (std::isnan(value)) value = 0.0;
    const double rank_p = signed_rank_test(ties, 1).p;
    if (ties == std::vector<double>(n, 0.0)) continue;
    const Interval interval = typical_difference(ranked, rank_p, alpha).interval;
    CHECK(interval.excludes(0) == (rank_p < alpha));
    CHECK(interval.low <= interval.high);
    rejected += p < alpha;
    open += interval.low_open || interval.high_open;
  }
  CHECK(rejected > 500);
  CHECK(open > 0);
}

TEST_CASE("a limit at 0 is left out where the test rejects 0") {
  // Six wins and twelve ties: p = 2/2⁶ at 0, but just above it the ties are twelve losses.
  std::vector<double> d(12, 0.0);
  d.insert(d.end(), {1, 2, 3, 4, 5, 6});
  const TypicalDifference result = typical(d);
  CHECK(result.interval.low == 0);
  CHECK(result.interval.low_open);
  CHECK(result.interval.excludes(0));
}

TEST_CASE("a limit away from 0 is open where the test rejects it") {
  const TypicalDifference result = typical({1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8});
  check_limits(result.interval, 2.5, 5.5);
  CHECK_FALSE(result.interval.low_open);
  CHECK(result.interval.high_open);  // p = 0.0444 at 5.5, 0.0737 just below
}

TEST_CASE("a limit by ranks belongs to the interval exactly when its own test does not reject it") {
  SplitMix64 random(31);
  std::size_t limits = 0, open = 0;
  for (int study = 0; study < 600; ++study) {
    const std::size_t n = study < 560 ? 6 + random.index(9) : 26 + random.index(15);
    const double grid = study % 2 == 0 ? 1.0 : 0.1, alpha = study % 3 == 0 ? .1 : .05;  // averages of tenths tie on paper only
    std::vector<double> whole(n), d(n);
    for (std::size_t i = 0; i < n; ++i) {
      whole[i] = std::round(3 * simulate::normal(random)) + 4;
      d[i] = grid * whole[i];
    }
    const auto p_at = [&](double theta) {
      std::vector<double> shifted = whole;
      for (double& value : shifted) value -= theta;
      return signed_rank_test(shifted, 1);
    };
    const Interval interval = typical_difference(d, p_at(0).p, alpha).interval;
    INFO("study " << study << " of " << n << ": " << interval.low << ", " << interval.high);
    for (const double limit : {interval.low, interval.high}) {
      const SignFlipTest at_limit = p_at(std::round(2 * limit / grid) / 2);
      if (std::isinf(limit) || !at_limit.exact) continue;
      CHECK(interval.excludes(limit) == (at_limit.p < alpha));
      ++limits;
    }
    open += interval.low_open + interval.high_open;
  }
  CHECK(limits > 1000);
  CHECK(open > 100);
}

TEST_CASE("where ties and a few wins leave no value, the interval is empty and says so") {
  // At 0 the ties drop out and six wins of six reject it; just above they are thirty losses, below everything is a win.
  std::vector<double> d(30, 0.0);
  d.insert(d.end(), 6, 1.0);
  const TypicalDifference result = typical(d);
  CHECK(result.value == 0);
  CHECK(result.interval.empty());
  CHECK(result.interval.excludes(0));
  for (double& value : d) value += 2;
  CHECK(typical(d).interval.empty());  // 2 is rejected as 0 was, not the one value that is left
  CHECK_FALSE(Interval{0, 0, .95}.empty());
  CHECK_FALSE(typical(std::vector<double>(36, 0.0)).interval.excludes(0));
}

TEST_CASE("a value that ties reject beside one that they do not leaves an open limit, with however many pairs") {
  for (const std::size_t pairs : {20u, 30u, 60u}) {
    INFO(pairs);
    std::vector<double> d(pairs * 72 / 100, 0.0);
    while (d.size() < pairs) d.push_back(1.0 + .001 * static_cast<double>(d.size()));
    const TypicalDifference result = typical(d);
    if (signed_rank_test(d).p >= .05) continue;
    const bool just_above = signed_rank_test([&] {
                              std::vector<double> shifted = d;
                              for (double& value : shifted) value -= 1e-6;
                              return shifted;
                            }())
                                .p >= .05;
    CHECK(result.interval.excludes(0));
    CHECK(result.interval.empty() != just_above);
    CHECK(result.interval.low == 0);
    CHECK((result.interval.high > 0) == just_above);
  }
}

TEST_CASE("a pair without any value says nothing about the size of the difference") {
  const std::vector<double> d{-5, -4, -7, -6, -3, -8}, with{-5, -4, -7, -6, -3, -8, kNone, kNone, kNone};
  CHECK(typical(with).value == typical(d).value);
  check_limits(typical(with).interval, -8, -3);
  CHECK(typical({-5, -4, kNone, kNone, kNone, kNone, kNone, kNone}).interval.unbounded());
  CHECK_THROWS_WITH(typical({kNone, kNone}), "typical difference: no pair has a value");
}

TEST_CASE("missing runs make the interval of the typical difference infinite on their side") {
  const TypicalDifference one = typical({1, 2, 3, 4, 5, kInfinity});
  check_limits({one.interval.low, 5, .95}, 1, 5);
  CHECK(one.interval.high == kInfinity);
  const TypicalDifference all = typical(std::vector<double>(6, kInfinity));
  CHECK(all.value == kInfinity);
  CHECK(all.interval.low == kInfinity);
  const TypicalDifference both = typical({kInfinity, -kInfinity, kInfinity, -kInfinity, 1, 2, 3});
  CHECK(both.interval.unbounded());
}

TEST_CASE("equal differences have an interval of width zero") {
  check_limits(sign_flip_interval(std::vector<double>(7, .02), .05), .02, .02);
  check_limits(sign_flip_interval(std::vector<double>(30, .02), .05), .02, .02);
  check_limits(typical(std::vector<double>(7, .02)).interval, .02, .02);
  check_limits(typical(std::vector<double>(60, .02)).interval, .02, .02);
  CHECK(sign_flip_interval(std::vector<double>(7, 0.0), .05).low == 0);
}

TEST_CASE("intervals mirror when variant and reference are exchanged and move with the differences") {
  std::vector<double> mirrored = first(16), moved = first(16);
  for (double& value : mirrored) value = -value;
  for (double& value : moved) value += 7;
  check_limits(sign_flip_interval(mirrored, .05), -.28375, -.11);
  check_limits(typical(mirrored).interval, -.295, -.11);
  check_limits(sign_flip_interval(moved, .05), 7.11, 7.28375);
  check_limits(typical(moved).interval, 7.11, 7.295);
}

// Every row: at least 95 % less three Monte-Carlo standard errors, of symmetric differences. The table of inversion.hpp is from 4,000
// studies each; more here with FFN_STUDIES in the environment.
TEST_CASE("intervals of level 95 % cover in 95 % of studies", "[calibration]") {
  struct Row {
    const char* name;
    double (*draw)(SplitMix64&);
  };
  const Row rows[] = {
      {"normal", [](SplitMix64& r) { return simulate::normal(r); }},
      {"heavy symmetric", [](SplitMix64& r) { return std::exp(simulate::normal(r)) - std::exp(simulate::normal(r)); }},
      {"rounded", [](SplitMix64& r) { return std::round(simulate::normal(r)); }},
  };
  const std::size_t studies = simulate::num_studies(500);
  for (const Row& row : rows)
    for (const std::size_t n : {6u, 10u, 20u, 50u}) {
      SplitMix64 random(n);
      std::size_t mean_covered = 0, typical_covered = 0;
      const std::size_t num = n >= 50 ? studies / 8 : n >= 20 ? studies / 2 : studies;  // the longer take longer
      for (std::size_t study = 0; study < num; ++study) {
        std::vector<double> d(n);
        for (double& value : d) value = row.draw(random);
        mean_covered += !sign_flip_interval(d, .05, study).excludes(0);
        typical_covered += !typical_difference(d, signed_rank_test(d, study).p, .05).interval.excludes(0);
      }
      const auto share = [&](std::size_t covered) { return static_cast<double>(covered) / static_cast<double>(num); };
      simulate::print(std::string("coverage of the mean, ") + row.name, n, share(mean_covered));
      simulate::print(std::string("coverage of the typical difference, ") + row.name, n, share(typical_covered));
      const double bound = .95 - 3 * std::sqrt(.05 * .95 / static_cast<double>(num));
      CHECK(share(mean_covered) >= bound);
      CHECK(share(typical_covered) >= bound);
    }
}
