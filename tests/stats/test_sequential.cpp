// Sequential designs: golden values, closed family and extension. Error rates: test_sequential_rates.cpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ffn/stats/permutation.hpp"
#include "ffn/stats/sequential.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

const std::vector<double> kE{.02, -.01, .03, 0, .01, -.02, .04, .01, .02, 0, .03, -.01, .05, .02, .01, .03};
const std::vector<double> kQ{.02, -.03, .01, 0, .04, -.02, -.01, .03, .02, -.04, 0, .01, -.01, .02, -.02, .01};

PairedTest by_mean(const std::vector<double>&) { return PairedTest::sign_flip_of_mean; }
PairedTest by_ranks(const std::vector<double>&) { return PairedTest::signed_rank; }

std::vector<double> first_of(const std::vector<double>& d, std::size_t n) {
  return {d.begin(), d.begin() + static_cast<std::ptrdiff_t>(n)};
}

std::vector<InterimAnalysis> golden_analyses(const std::vector<double>& d, double alpha, std::size_t maximum, const TestRule& rule,
                                             const std::vector<std::size_t>& analyses = {8, 12, 16}, Side side = Side::both) {
  const auto spent = [=](std::size_t n) { return spent_alpha(alpha, n, maximum); };
  return sequential_test(first_of(d, analyses.back()), analyses, spent, SignPaths::all(analyses.back()), side, rule);
}

/// `allowed` and `crossed` out of 2^n; a negative threshold: none.
void check_analysis(const InterimAnalysis& analysis, std::size_t allowed, std::size_t crossed, double threshold, double observed,
                    bool crosses, std::size_t last = 16) {
  INFO(analysis.num_seeds);
  const std::size_t paths_per_pattern = std::size_t{1} << (last - analysis.num_seeds);
  CHECK(analysis.allowed / paths_per_pattern == allowed);
  CHECK(analysis.crossed == crossed * paths_per_pattern);
  CHECK(analysis.threshold.has_value() == (threshold >= 0));
  if (analysis.threshold) CHECK(*analysis.threshold == Approx(threshold));
  if (observed >= 0) CHECK(std::abs(analysis.observed) == Approx(observed));
  CHECK(analysis.observed_crosses == crosses);
}

SequentialDesign design(std::size_t maximum, double min_effect = 0) {
  SequentialDesign result;
  result.maxima = {maximum};
  result.min_effect = min_effect;
  return result;
}

}  // namespace

TEST_CASE("analyses grow by a half or a third and hold every declared maximum") {
  CHECK(interim_sample_sizes({50}) == std::vector<std::size_t>{8, 12, 16, 24, 32, 48, 50});
  CHECK(interim_sample_sizes({200}) == std::vector<std::size_t>{8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 200});
  CHECK(interim_sample_sizes({50, 100}) == std::vector<std::size_t>{8, 12, 16, 24, 32, 48, 50, 64, 96, 100});
  CHECK(interim_sample_sizes({8}) == std::vector<std::size_t>{8});
  CHECK(next_sample_size({50}, 0) == 8);
  CHECK(next_sample_size({50}, 48) == 50);
  CHECK_FALSE(next_sample_size({50}, 50).has_value());
  CHECK_THROWS_WITH(interim_sample_sizes({}), "a sequential design needs a maximum number of seeds");
  CHECK_THROWS_WITH(interim_sample_sizes({7}), "maximum (7) must be at least 8 seeds");
  CHECK_THROWS_WITH(interim_sample_sizes({50, 50}), "maximum 50 does not exceed the one before, 50");
}

TEST_CASE("what may be spent agrees with the golden values and never reaches alpha") {
  const auto spent = [](std::size_t n, std::size_t maximum) { return spent_alpha(.05, n, maximum); };
  CHECK(spent(8, 50) == Approx(.010930).margin(5e-7));
  CHECK(spent(12, 50) == Approx(.015538).margin(5e-7));
  CHECK(spent(16, 50) == Approx(.019717).margin(5e-7));
  CHECK(spent(50, 50) == Approx(.045));
  CHECK(spent(75, 50) == Approx(.046667).margin(5e-7));
  CHECK(spent(100, 50) == Approx(.0475));
  CHECK(spent(8, 100) == Approx(.005796).margin(5e-7));
  CHECK(spent(12, 100) == Approx(.008436).margin(5e-7));
  CHECK(spent(100, 100) == Approx(.045));
  CHECK(spent(100'000, 50) < .05);
}

TEST_CASE("means cross as in the golden values") {
  const auto analyses = golden_analyses(kD, .05, 50, by_mean);
  check_analysis(analyses[0], 2, 2, 1.57, 1.25, false);
  check_analysis(analyses[1], 63, 62, 2.22, 2.38, true);
  check_analysis(analyses[2], 1292, 1274, 2.59, 3.15, false);
  const auto slow = golden_analyses(kD, .05, 100, by_mean);
  check_analysis(slow[0], 1, 0, -1, 1.25, false);
  check_analysis(slow[1], 34, 32, 2.24, 2.38, true);
  check_analysis(slow[2], 716, 716, 2.67, 3.15, false);
  const auto tied = golden_analyses(kE, .05, 50, by_mean);
  check_analysis(tied[0], 2, 0, -1, -1, false);
  check_analysis(tied[1], 63, 40, .18, .12, false);
  check_analysis(tied[2], 1292, 928, .25, .23, false);
}

TEST_CASE("a third of the level crosses as in the golden values") {
  const auto analyses = golden_analyses(kD, .05 / 3, 50, by_mean, {8, 12, 16, 20});
  check_analysis(analyses[0], 0, 0, -1, -1, false, 20);
  check_analysis(analyses[1], 21, 18, 2.36, 2.38, true, 20);
  check_analysis(analyses[2], 430, 428, 2.79, -1, false, 20);
  check_analysis(analyses[3], 8228, 8108, 3.01, -1, false, 20);
}

TEST_CASE("ranks cross as in the golden values") {
  const auto analyses = golden_analyses(kD, .05, 50, by_ranks);
  check_analysis(analyses[0], 2, 2, 36, 28, false);
  check_analysis(analyses[1], 63, 56, 66, 70, true);
  check_analysis(analyses[2], 1292, 1288, 98, 122, false);
  const auto tied = golden_analyses(kE, .05, 50, by_ranks);
  check_analysis(tied[0], 2, 0, -1, -1, false);
  check_analysis(tied[1], 63, 40, 50, 33, false);
  check_analysis(tied[2], 1292, 1264, 78, 78, true);
}

TEST_CASE("equivalence crosses as in the golden values") {
  const auto crossing = [](double margin, double sign) {
    std::vector<double> shifted;
    for (const double d : kQ) shifted.push_back(margin + sign * d);
    for (const InterimAnalysis& analysis : golden_analyses(shifted, .05, 50, by_mean, {8, 12, 16}, Side::upper))
      if (analysis.observed_crosses) return analysis.num_seeds;
    return std::size_t{0};
  };
  CHECK(crossing(.03, 1) == 8);
  CHECK(crossing(.03, -1) == 12);
  CHECK(crossing(.05, 1) == 8);
  CHECK(crossing(.05, -1) == 8);
}

TEST_CASE("drawn paths agree with all of them") {
  // 99,999 of the 65,536 patterns: shares within Monte-Carlo error, and the verdict at the same analysis.
  SequentialDesign mean = design(50);
  mean.rule = by_mean;
  const auto verdict = judge_sequentially({first_of(kD, 16)}, mean).front();
  CHECK(verdict.verdict == Verdict::better);
  CHECK(verdict.different == 12);
  CHECK(verdict.num_analysed == 16);
  const auto analyses = sequential_test(
      first_of(kD, 16), {8, 12, 16}, [](std::size_t n) { return spent_alpha(.05, n, 50); }, SignPaths::drawn(), Side::both, by_mean);
  CHECK(static_cast<double>(analyses[1].crossed) / 1e5 == Approx(62.0 / 4096).margin(.0015));
  CHECK(static_cast<double>(analyses[2].crossed) / 1e5 == Approx(1274.0 / 65536).margin(.0005));
  const auto equivalent = judge_sequentially({kQ}, design(50, .03)).front();
  CHECK(equivalent.verdict == Verdict::no_meaningful_difference);
  CHECK(equivalent.negligible == 12);
  CHECK_FALSE(equivalent.different.has_value());
}

TEST_CASE("paths are the same in every program and for every number of seeds") {
  const auto words = SignPaths::drawn(3).words(70);
  CHECK(words.size() == 8);
  CHECK(words[0] == 0);  // the observed path
  CHECK(words[1] == 0);
  const std::uint64_t start = SplitMix64(0).next();
  for (std::size_t path = 1; path < 4; ++path) {
    SplitMix64 random(start + path);
    CHECK(words[2 * path] == random.next());
    CHECK(words[2 * path + 1] == random.next());
    CHECK(SignPaths::drawn(3).words(20)[path] == words[2 * path]);
  }
  const auto all = SignPaths::all(8).words(16);
  CHECK(all.size() == 256);
  for (std::size_t path = 0; path < 256; ++path) CHECK((all[path] & 255u) == path);
}

TEST_CASE("a verdict depends on nothing but differences, maxima and analyses") {
  const SequentialDesign mean = design(50);
  // Seeds beyond an analysis change nothing of what was said at it; what stood stands.
  for (const std::size_t n : {12u, 15u, 16u, 20u}) CHECK(judge_sequentially({first_of(kD, n)}, mean).front().different == 12);
  CHECK(judge_sequentially({first_of(kD, 11)}, mean).front().verdict == Verdict::undecided);
  CHECK(judge_sequentially({first_of(kD, 11)}, mean).front().num_analysed == 8);
  CHECK(judge_sequentially({first_of(kD, 7)}, mean).front().verdict == Verdict::too_few_seeds);
  // The first maximum counts for ever: raising it changes no analysis up to it.
  SequentialDesign raised = mean;
  raised.maxima = {50, 200};
  CHECK(judge_sequentially({first_of(kD, 20)}, raised).front().different == 12);
  std::vector<double> mirrored = kD;
  for (double& d : mirrored) d = -d;
  CHECK(judge_sequentially({mirrored}, mean).front().verdict == Verdict::worse);
}

TEST_CASE("a maximum of at most 20 enumerates its paths and may be raised") {
  SequentialDesign small = design(16);
  CHECK(judge_sequentially({first_of(kD, 16)}, small).front().verdict == Verdict::better);
  small.maxima = {16, 48};
  std::vector<double> d = kE;
  for (int i = 0; i < 32; ++i) d.push_back(i % 4 == 0 ? -.01 : .02);
  CHECK(judge_sequentially({d}, small).front().verdict == Verdict::better);
}

TEST_CASE("without a margin the family is Holm's, with one a comparison leaves it with both claims only") {
  // D crosses at α/3 at 12, so that E, by ranks alone at 16, profits from it where no margin is declared.
  SequentialDesign ranks = design(50);
  ranks.rule = by_ranks;
  CHECK(judge_sequentially({kE}, ranks).front().verdict == Verdict::better);
  ranks.comparisons = 2;
  CHECK(judge_sequentially({kE}, ranks).front().verdict == Verdict::undecided);
  const auto both = judge_sequentially({first_of(kD, 16), kE}, ranks);
  CHECK(both[0].different == 12);
  CHECK(both[1].different == 16);

  ranks.min_effect = .015;  // E may be as small as that, D is not: its second claim stays open, and its share with it
  const auto with_margin = judge_sequentially({first_of(kD, 16), kE}, ranks);
  CHECK(with_margin[0].verdict == Verdict::better);
  CHECK(with_margin[1].verdict == Verdict::undecided);
}

TEST_CASE("a margin between rounded values is crossed when that of whole numbers is") {
  SplitMix64 random(12);
  SequentialDesign whole = design(12, 2), tenths = design(12, .2);
  whole.rule = tenths.rule = by_ranks;
  for (int sample = 0; sample < 40; ++sample) {
    std::vector<double> d, in_tenths;
    for (int i = 0; i < 12; ++i) {
      d.push_back(static_cast<double>(random.index(3)) - 2);
      in_tenths.push_back((d.back() + 9) / 10 - .9);
    }
    CHECK(judge_sequentially({in_tenths}, tenths).front().negligible == judge_sequentially({d}, whole).front().negligible);
  }
}

TEST_CASE("a run without a value counts worst and moves its analysis to ranks") {
  std::vector<double> d(12, 1.0);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] += .1 * static_cast<double>(i);
  d[9] = kInfinity;
  d[10] = kNone;
  const auto analyses = sequential_test(
      d, {8, 12}, [](std::size_t n) { return spent_alpha(.05, n, 50); }, SignPaths::all(12));
  CHECK(analyses[0].test == PairedTest::sign_flip_of_mean);
  CHECK(analyses[1].test == PairedTest::signed_rank);
  CHECK(analyses[1].observed == 66);  // ranks 1 … 11, the pair without any value left out
  d[3] = -kInfinity;
  CHECK(sequential_test(
            d, {8, 12}, [](std::size_t n) { return spent_alpha(.05, n, 50); }, SignPaths::all(12))[0]
            .test == PairedTest::signed_rank);
  CHECK_THROWS_WITH(judge_sequentially({d}, design(50, -1)), "min_effect (-1) must be finite and not negative");
}

TEST_CASE("the sequential interval agrees with the golden values and with the test") {
  SequentialDesign mean = design(50);
  mean.rule = by_mean;
  const auto check_interval = [&](std::size_t n, double low, double high, double margin) {
    const Interval interval = sequential_interval(first_of(kD, n), mean);
    CHECK(interval.low == Approx(low).margin(margin));
    CHECK(interval.high == Approx(high).margin(margin));
    CHECK(interval.excludes(0) == (judge_sequentially({first_of(kD, n)}, mean).front().verdict == Verdict::better));
  };
  // The golden values are from all 2^n paths; 99,999 of them move a limit between neighbouring means of subsets.
  check_interval(8, -.11, .44, 1e-4);
  check_interval(12, .035, .355, .01);
  check_interval(16, .068, .318, .004);
  mean.maxima = {100};
  CHECK(sequential_interval(first_of(kD, 8), mean).unbounded());
  check_interval(12, .03, .355, .01);
  check_interval(16, .05667, .328, .004);
  CHECK(sequential_interval(first_of(kD, 7), mean).unbounded());
}

TEST_CASE("a sequential interval leaves out 0 exactly where its test does, for ties, heavy tails and runs without a value") {
  SplitMix64 random(5);
  const auto coin = [&](double p) { return static_cast<double>(random.next() >> 11) * 0x1p-53 < p; };
  std::size_t decided = 0, undecided = 0;
  for (int study = 0; study < 150; ++study) {
    SequentialDesign plan = design(48);
    plan.paths = SignPaths::drawn(1999);
    plan.rule = study % 3 == 0 ? TestRule(by_ranks) : TestRule(tail_rule);
    std::vector<double> d;
    const double shift = study % 2 == 0 ? 0.35 : 0.0;
    for (int i = 0; i < 32; ++i) {
      const double z = simulate::normal(random) + shift;
      const double tied = coin(0.6) ? 0.0 : 10.0 * std::round(z);
      d.push_back(study % 3 == 0 ? tied : study % 3 == 1 ? (coin(0.15) ? 100.0 * z : z) : coin(0.1) ? kInfinity : coin(0.05) ? kNone : z);
    }
    const Interval interval = sequential_interval(d, plan);
    const Verdict verdict = judge_sequentially({d}, plan).front().verdict;
    INFO("study " << study << " [" << interval.low << ", " << interval.high << "] " << to_string(verdict));
    CHECK(interval.low <= interval.high);
    CHECK(interval.excludes(0) == (verdict != Verdict::undecided));
    if (verdict == Verdict::better) CHECK(interval.low >= 0);
    ++(verdict == Verdict::undecided ? undecided : decided);
  }
  CHECK(decided > 20);
  CHECK(undecided > 20);
}

TEST_CASE("a limit of a sequential interval by ranks belongs to it exactly when its test has not crossed there") {
  SplitMix64 random(6);
  std::size_t limits = 0, open = 0;
  for (int study = 0; study < 150; ++study) {
    SequentialDesign plan = design(48);
    plan.paths = SignPaths::drawn(1999);
    plan.rule = by_ranks;
    const double grid = study % 2 == 0 ? 1.0 : 0.1;
    std::vector<double> whole, d;
    for (int i = 0; i < 24; ++i) {
      whole.push_back(std::round(3 * simulate::normal(random)) + 4);
      d.push_back(grid * whole.back());
    }
    const Interval interval = sequential_interval(d, plan);
    for (const double limit : {interval.low, interval.high}) {
      std::vector<double> shifted = whole;
      for (double& value : shifted) value -= std::round(2 * limit / grid) / 2;
      INFO("study " << study << " limit " << limit);
      if (interval.empty()) continue;
      CHECK(interval.excludes(limit) == (judge_sequentially({shifted}, plan).front().verdict != Verdict::undecided));
      ++limits;
    }
    open += interval.low_open + interval.high_open;
  }
  CHECK(limits > 250);
  CHECK(open > 20);
}

TEST_CASE("an interval by ranks lies around the typical difference, not around a mean that one run carries away") {
  SequentialDesign plan = design(50);
  plan.rule = tail_rule;
  std::vector<double> d = kD;
  d[3] = 1000;  // mean 50, all others below 0.5
  const Interval interval = sequential_interval(d, plan);
  CHECK(interval.low > 0);
  CHECK(interval.low < .2);
  CHECK(interval.high > .2);
  CHECK(interval.high < 1);
  // Most pairs have a value on the better side alone: the difference has no upper limit.
  for (std::size_t i = 0; i < 14; ++i) d[i] = kInfinity;
  const Interval endless = sequential_interval(d, plan);
  CHECK(endless.low > 0);
  CHECK(endless.high == kInfinity);
}

TEST_CASE("the first interim analysis at which anything can be said depends on maximum and family") {
  SequentialDesign plan = design(50);
  CHECK(first_possible_verdict(plan) == 8);
  plan.maxima = {100};
  CHECK(first_possible_verdict(plan) == 12);
  plan.maxima = {200};
  plan.comparisons = 10;
  CHECK(first_possible_verdict(plan) == 16);
  plan.maxima = {8};
  plan.comparisons = 100;
  CHECK(first_possible_verdict(plan) == 8);
}
