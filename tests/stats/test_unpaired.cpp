// Samples that no seed pairs: against counts over all splits, published values, and the test itself at its interval's limits.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "ffn/stats/random.hpp"
#include "ffn/stats/unpaired.hpp"
#include "ffn/stats/verdict.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

namespace {

std::vector<Outcome> outcomes(const std::vector<double>& values) { return {values.begin(), values.end()}; }

PairedResult compared(const std::vector<double>& a, const std::vector<double>& b, const CompareOptions& options = {}, bool ranks = false) {
  return compare_unpaired(outcomes(a), outcomes(b), Direction::lower_is_better, PairedValues::difference, ranks, options);
}

// Share of all splits whose statistic is as far from its mean as the observed one.
template <class Statistic>
double counted_p(const std::vector<double>& a, const std::vector<double>& b, Statistic statistic) {
  std::vector<double> pooled = a;
  pooled.insert(pooled.end(), b.begin(), b.end());
  std::vector<int> in(pooled.size(), 0);
  std::fill(in.end() - static_cast<std::ptrdiff_t>(a.size()), in.end(), 1);
  const auto of = [&](bool ours) {
    std::vector<double> out;
    for (std::size_t i = 0; i < in.size(); ++i)
      if ((in[i] == 1) == ours) out.push_back(pooled[i]);
    return out;
  };
  const double observed = std::abs(statistic(a, b));
  std::size_t all = 0, as_far = 0;
  do {
    ++all;
    as_far += std::abs(statistic(of(true), of(false))) >= observed - 1e-9;
  } while (std::next_permutation(in.begin(), in.end()));
  return static_cast<double>(as_far) / static_cast<double>(all);
}

double mean_of(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }

double difference_of_means(const std::vector<double>& a, const std::vector<double>& b) { return mean_of(a) - mean_of(b); }

double u_from_centre(const std::vector<double>& a, const std::vector<double>& b) {
  double u = 0;
  for (const double x : a)
    for (const double y : b) u += x > y ? 1.0 : x == y ? 0.5 : 0.0;
  return u - static_cast<double>(a.size() * b.size()) / 2;
}

std::vector<double> drawn(SplitMix64& random, std::size_t n, double shift) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += static_cast<double>(random.index(1u << 20)) / (1u << 20);
    out.push_back(sum + shift);
  }
  return out;
}

const std::vector<double> kNew{3.2806, 3.2764, 3.2787, 3.2778, 3.2776, 3.2754, 3.2779, 3.2775, 3.2782, 3.2779};
const std::vector<double> kOld{3.2784, 3.2778, 3.2766, 3.2771, 3.2764, 3.2768, 3.2760, 3.2790, 3.2747, 3.2772};

}  // namespace

// Both sets of losses are public: KellerJordan/modded-nanogpt #120. 35,522 of 184,756 splits were counted in whole numbers by a script.
TEST_CASE("two sets of ten losses of modded-nanogpt have the permutation p that counting gives") {
  const auto result = compared(kNew, kOld);
  CHECK(result.p == Approx(35522.0 / 184756.0).epsilon(1e-12));
  CHECK(result.exact_p);
  CHECK(result.difference->mean == Approx(0.0008).epsilon(1e-6));
  CHECK(result.difference->sd == Approx(std::hypot(0.00136137, 0.00122474)).epsilon(1e-4));
  CHECK(result.smallest_p == Approx(2.0 / 184756.0));
  CHECK_FALSE(result.effect->interval.excludes(0));
  CHECK(judge({result})[0].verdict == Verdict::undecided);
}

TEST_CASE("tests of small samples are those of all splits") {
  const std::vector<double> a{1.5, 2.25, 0.5, 4.0}, b{1.0, 0.25, 0.75}, ties{1, 2, 2, 3}, others{2, 3, 3};
  // With different numbers of runs the larger p of permutations and of Welch's test.
  const auto counted = [](const auto& x, const auto& y) { return std::max(counted_p(x, y, difference_of_means), welch_p(x, y)); };
  CHECK(compared(a, b).p == Approx(counted(a, b)));
  CHECK(compared(b, a).p == Approx(counted(b, a)));
  CHECK(compared(ties, others).p == Approx(counted(ties, others)));
  CHECK(compared(a, others).p == Approx(counted(a, others)));
  CHECK(compared(ties, {0.5, 2.5, 2.25, 0.75}).p == Approx(counted_p(ties, {0.5, 2.5, 2.25, 0.75}, difference_of_means)));
  // scipy.stats.mannwhitneyu's example: U = 17, exact p = 1/9.
  CHECK(compared({19, 22, 16, 29, 24}, {20, 11, 17, 12}, {}, true).p == Approx(1.0 / 9));
  CHECK(compared({19, 22, 16, 29, 24}, {20, 11, 17, 12}, {}, true).effect->value == Approx(7.0));
  CHECK(compared({1, 2, 2, 9}, {2, 3, 3, 9}, {}, true).p == Approx(counted_p({1, 2, 2, 9}, {2, 3, 3, 9}, u_from_centre)));
}

TEST_CASE("an interval of means holds what the test does not reject") {
  SplitMix64 random(7);
  std::size_t checked = 0;
  for (const auto& [n, m] : std::vector<std::pair<std::size_t, std::size_t>>{{4, 4}, {6, 5}, {5, 8}, {10, 10}}) {
    const auto a = drawn(random, n, 0.8), b = drawn(random, m, 0);
    const auto result = compared(a, b);
    const auto& interval = result.effect->interval;
    const auto p_at = [&](double theta) {
      auto shifted = a;
      for (double& x : shifted) x -= theta;
      return compared(shifted, b).p;
    };
    CHECK(p_at(interval.low - 1e-6) < 0.05);
    CHECK(p_at(interval.low + 1e-6) >= 0.05);
    CHECK(p_at(interval.high - 1e-6) >= 0.05);
    CHECK(p_at(interval.high + 1e-6) < 0.05);
    CHECK(interval.excludes(0) == (result.p < 0.05));
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("an interval of ranks holds what the test does not reject") {
  SplitMix64 random(8);
  for (const std::size_t n : {5, 9}) {
    const auto a = drawn(random, n, 0.8), b = drawn(random, 8, 0);
    const auto interval = compared(a, b, {}, true).effect->interval;
    const auto p_at = [&](double theta) {
      auto shifted = a;
      for (double& x : shifted) x -= theta;
      return compared(shifted, b, {}, true).p;
    };
    CHECK(p_at(interval.low - 1e-6) < 0.05);
    CHECK(p_at(interval.low + 1e-6) >= 0.05);
    CHECK(p_at(interval.high - 1e-6) >= 0.05);
    CHECK(p_at(interval.high + 1e-6) < 0.05);
  }
}

TEST_CASE("runs without a value are the worst, and the test is then of ranks") {
  const std::vector<Outcome> whole{1.0, 1.1, 1.2, 1.3, 1.4}, failing{0.9, std::nullopt, std::nullopt, NAN, INFINITY};
  const auto result = compare_unpaired(failing, whole, Direction::lower_is_better, PairedValues::log_ratio, false);
  CHECK(result.test == PairedTest::rank_sum);
  CHECK(result.missing_variant == 4);
  CHECK(result.improvement.all_pairs == Approx(0.2));
  CHECK(result.standardised_effect < 0);
  CHECK_FALSE(result.difference);
  const auto none =
      compare_unpaired({std::nullopt, std::nullopt}, {std::nullopt, NAN}, Direction::higher_is_better, PairedValues::difference, false);
  CHECK(none.p == 1);
  CHECK_FALSE(none.effect);
}

TEST_CASE("exchanging sides that both have lost runs turns the typical difference around") {
  const std::vector<Outcome> five{0.9, 1.7, 1.2, 2.1, std::nullopt}, six{1.0, 1.3, 0.45, 0.6, 1.6, std::nullopt};
  for (const double alpha : {0.05, 0.3}) {
    CompareOptions options;
    options.alpha = alpha;
    const auto compare = [&](const auto& a, const auto& b) {
      return *compare_unpaired(a, b, Direction::lower_is_better, PairedValues::difference, false, options).effect;
    };
    const auto effect = compare(five, six), exchanged = compare(six, five);
    CHECK(effect.value == Approx(0.5));  // the 15th of 29: −∞ 4 times, 20 differences, ∞ 5 times
    CHECK(exchanged.value == -effect.value);
    CHECK(exchanged.interval.low == -effect.interval.high);
    CHECK(exchanged.interval.high == -effect.interval.low);
  }
}

TEST_CASE("a margin between rounded values gives the p of whole numbers") {
  SplitMix64 random(10);
  CompareOptions whole, tenths;
  whole.min_effect = 2;
  tenths.min_effect = 0.2;
  for (int sample = 0; sample < 20; ++sample) {
    std::vector<double> values[2], in_tenths[2];
    for (std::size_t i = 0; i < 16; ++i) {
      const auto value = static_cast<double>(8 + random.index(6));
      values[i % 2].push_back(value);
      in_tenths[i % 2].push_back(value / 10);
    }
    for (const bool ranks : {false, true})
      CHECK(compared(in_tenths[0], in_tenths[1], tenths, ranks).p_equivalence ==
            compared(values[0], values[1], whole, ranks).p_equivalence);
  }
}

TEST_CASE("equal values are the same, and 3 runs a side too few") {
  CHECK(judge({compared({2, 2, 2, 2}, {2, 2, 2, 2})})[0].verdict == Verdict::same);
  const auto few = judge({compared({1, 2, 3}, {7, 8, 9})})[0];
  CHECK(few.verdict == Verdict::too_few_seeds);
  CHECK(few.seeds_for_verdict == 4);
  CHECK(judge({compared({1, 2, 3, 4}, {7, 8, 9, 10})})[0].verdict == Verdict::better);
}

TEST_CASE("a margin that the difference is surely within is no meaningful difference") {
  CompareOptions options;
  options.min_effect = 0.005;
  const auto result = compared(kNew, kOld, options);
  CHECK(judge({result})[0].verdict == Verdict::no_meaningful_difference);
  options.min_effect = 0.0009;
  CHECK(judge({compared(kNew, kOld, options)})[0].verdict == Verdict::undecided);
  options.min_effect = 0.005;
  CHECK(judge({compared(kNew, kOld, options, true)})[0].verdict == Verdict::no_meaningful_difference);
}

TEST_CASE("many runs are judged by random splits, and many ranks by the normal approximation") {
  SplitMix64 random(9);
  const auto a = drawn(random, 60, 0.6), b = drawn(random, 60, 0);
  const auto means = compared(a, b), ranks = compared(a, b, {}, true);
  CHECK_FALSE(means.exact_p);
  CHECK_FALSE(ranks.exact_p);
  CHECK(means.p == Approx(welch_p(a, b)).margin(2e-3));
  CHECK(ranks.p < 0.01);
  CHECK(ranks.effect->interval.excludes(0));
}

TEST_CASE("Welch's p and the power of the two-sample t test have their published values") {
  // Rosetta Code, "Welch's t-test".
  CHECK(welch_p({27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
                {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4}) ==
        Approx(0.021378001462867).epsilon(1e-9));
  CHECK(unpaired_power(0.5, 64, 0.05) == Approx(0.8015).margin(1e-4));  // Cohen 1988; G*Power
  CHECK(unpaired_power(0, 10, 0.05) == Approx(0.05).margin(1e-9));
  CHECK(unpaired_power(1e9, 10, 0.05) == 1);
}

// Stationary under the null: no more than 5 % of studies, of 5 and 7 runs with a skewed common distribution.
TEST_CASE("equal distributions get a verdict in at most 5 % of studies") {
  SplitMix64 random(10);
  int rejected = 0;
  constexpr int kStudies = 1500;
  for (int study = 0; study < kStudies; ++study) {
    auto a = drawn(random, 5, 0), b = drawn(random, 7, 0);
    for (auto* side : {&a, &b})
      for (double& x : *side) x = std::exp(x);
    rejected += compared(a, b).p < 0.05;
  }
  CHECK(rejected < 0.05 * kStudies + 3 * std::sqrt(0.05 * 0.95 * kStudies));
  CHECK(rejected > 0.02 * kStudies);
}

TEST_CASE("sides of one mean and different spreads get a verdict in about 5 % of studies", "[calibration]") {
  SplitMix64 random(11);
  constexpr int kStudies = 1500;
  for (const auto& [n, sd, m] :
       std::vector<std::tuple<std::size_t, double, std::size_t>>{{5, 1 / 0.3, 12}, {5, 0.3, 12}, {10, 1 / 0.3, 10}}) {
    int rejected = 0;
    for (int study = 0; study < kStudies; ++study) {
      auto a = drawn(random, n, 0), b = drawn(random, m, 0);
      for (double& x : a) x *= sd;
      rejected += compared(a, b).p < 0.05;
    }
    CAPTURE(n, sd, m, rejected);
    CHECK(rejected < 0.07 * kStudies);
  }
}
