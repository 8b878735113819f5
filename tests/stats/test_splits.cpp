// Seeds that split the same rows of a table: the corrected resampled t test. Expected numbers are SciPy's, from the formula of the paper.
#include <cmath>
#include <random>

#include "ffn/stats/power.hpp"
#include "ffn/stats/verdict.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

const Scale kDifferences{PairedValues::difference, PairedTest::sign_flip_of_mean, ""};
const Scale kRatios{PairedValues::log_ratio, PairedTest::sign_flip_of_mean, ""};

CompareOptions splits(double ratio = 0.25, double min_effect = 0) {
  CompareOptions options;
  options.resamples = 10;
  options.held_out_per_training = ratio;
  options.min_effect = min_effect;
  return options;
}

PairedResult against_zero(const std::vector<double>& d, const CompareOptions& options) {
  return compare_paired({d.begin(), d.end()}, std::vector<Outcome>(d.size(), 0.0), Direction::higher_is_better, kDifferences, options);
}

Verdict verdict_of(const PairedResult& result) { return judge({result})[0].verdict; }

}  // namespace

TEST_CASE("the test of splits is that of Nadeau and Bengio, as is its interval and its equivalence") {
  const PairedResult result = against_zero({.03, -.01, .05, .02, .04, .00, .06, .01}, splits(0.25, 0.1));
  CHECK(result.test == PairedTest::corrected_t);
  CHECK(result.p == Approx(0.13951958313684434));
  CHECK(result.effect->value == Approx(0.025));
  CHECK(result.effect->interval.low == Approx(-0.01046936).epsilon(1e-6));
  CHECK(result.effect->interval.high == Approx(0.06046936).epsilon(1e-6));
  CHECK(result.difference->interval->low == result.effect->interval.low);
  CHECK(result.standardised_effect == Approx(0.025 / 0.02449489742783178));
  CHECK(result.p_equivalence == Approx(std::max(0.0007826389765864112, result.smallest_p / 2)));
  CHECK(verdict_of(result) == Verdict::no_meaningful_difference);
}

TEST_CASE("losses of splits are compared as logarithms of ratios") {
  const PairedResult result = compare_paired({.5, .6, .4, .55, .45, .5}, {1.0, 1.1, .9, 1.2, .8, 1.05}, kLower, kRatios, splits(0.3 / 0.7));
  CHECK(result.effect->value == Approx(-0.7012788745881839));
  CHECK(result.effect->interval.low == Approx(-0.88915712).epsilon(1e-6));
  CHECK(result.effect->interval.high == Approx(-0.51340063).epsilon(1e-6));
  CHECK(result.p == 0.03125);  // 2.1e-4 by t, and six seeds give no smaller one
  CHECK(verdict_of(result) == Verdict::better);
}

TEST_CASE("few splits give no verdict, however alike they are") {
  const PairedResult result = against_zero({.1, .1, .1}, splits());
  CHECK(result.p == 0.25);
  CHECK(result.effect->interval.unbounded());
  CHECK(verdict_of(result) == Verdict::too_few_seeds);
  CHECK(against_zero({.1}, splits()).p == 1);
  const PairedResult ties = against_zero(std::vector<double>(10), splits());
  CHECK(ties.p == 1);
  CHECK(verdict_of(ties) == Verdict::same);
}

TEST_CASE("p of splits is below alpha exactly where the interval leaves 0 out") {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::size_t rejected = 0, cases = 0;
  for (const std::size_t n : {2, 5, 6, 8, 30}) {
    for (const double alpha : {0.05, 0.01}) {
      for (int study = 0; study < 200; ++study, ++cases) {
        std::vector<double> d;
        for (std::size_t i = 0; i < n; ++i) d.push_back(study % 20 == 0 ? 0.1 : 1.0 + normal(random));
        CompareOptions options = splits();
        options.alpha = alpha;
        const PairedResult result = against_zero(d, options);
        const auto& interval = result.effect->interval;
        CHECK((result.p < alpha) == (interval.low > 0 || interval.high < 0));
        rejected += result.p < alpha;
      }
    }
  }
  CHECK(cases == 2000);
  CHECK(rejected > 200);
  CHECK(rejected < 1800);
}

TEST_CASE("a split without a value leaves no mean and no verdict") {
  const PairedResult result = compare_paired({1.0, std::nullopt, 1.1, 1.2, 1.0, 1.1, 1.2, 1.3}, std::vector<Outcome>(8, 2.0), kLower,
                                             kDifferences, splits(.25, .1));
  CHECK(result.p == 1);
  CHECK(result.p_equivalence == 1.0);
  CHECK(!result.effect);
  CHECK(verdict_of(result) == Verdict::undecided);
  const auto judgement = judge({result})[0];
  CHECK(judgement.chances.empty());
  CHECK(verdict_sentence(result, judgement).find("a run has no value, so there is no mean") != std::string::npos);
}

TEST_CASE("times of splits count up to the horizon") {
  std::vector<Hit> fast, slow;
  for (int i = 0; i < 10; ++i) {
    fast.push_back({20.0 + i, 100});
    slow.push_back({i < 3 ? std::nullopt : std::optional<double>(60.0 + 2 * i), 100});
  }
  const PairedResult result = compare_hits(fast, slow, splits()).paired;
  CHECK(result.test == PairedTest::corrected_t);
  CHECK(result.missing_reference == 3);
  CHECK(result.effect->estimand == Estimand::mean_difference);
  CHECK(result.effect->value == Approx(result.difference->mean));
  CHECK(result.difference->interval->high == result.effect->interval.high);
  CHECK(verdict_of(result) == Verdict::better);
}

TEST_CASE("what splits can show hardly grows beyond thirty of them") {
  CHECK(paired_power(1.2, 10, 0.05, 0.25) == Approx(0.44122254343521194).epsilon(1e-6));
  CHECK(smallest_detectable_difference(10, 2.0, 0.05, 0.44122254343521194, 0.25) == Approx(2.4).epsilon(1e-6));
  const auto detectable = [](std::size_t n) { return smallest_detectable_difference(n, 1.0, 0.05, kDefaultPower, 0.25); };
  CHECK(detectable(10) > 1.2 * detectable(kEnoughSplits));
  CHECK(detectable(100000) > 0.9 * detectable(kEnoughSplits));
  CHECK(chance_of_splits({10, 1.0}, 30, 0.05, 0.25) == Approx(0.40408167342503115).epsilon(1e-6));
  CHECK(chance_of_splits({10, 1.0}, 30, 0.05, 0.25, 10) > 0.999);
  // A study of few says what thirty would tell, unless that is nothing; one of twenty or more promises nothing.
  std::vector<double> few, many;
  for (int i = 0; i < 24; ++i) (i < 10 ? few : many).push_back(1.0 + 2 * (i % 2));
  const auto of = [](const std::vector<double>& d, double ratio) { return judge({against_zero(d, splits(ratio))})[0]; };
  REQUIRE(of(few, 0.7).verdict == Verdict::undecided);
  REQUIRE(of(few, 0.7).chances.size() == 1);
  CHECK(of(few, 0.7).chances[0].num_seeds == 30);
  CHECK(of(few, 2.0).chances.empty());
  many.insert(many.end(), few.begin(), few.end());
  REQUIRE(of(many, 2.0).verdict == Verdict::undecided);
  CHECK(of(many, 2.0).chances.empty());
}
