// Comparisons of ratios: what is judged, and how it is said.
#include <cmath>
#include <limits>
#include <vector>

#include "ffn/stats/summary.hpp"
#include "ffn/stats/verdict.hpp"
#include "one_pair.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

const double kInf = std::numeric_limits<double>::infinity();

PairedResult compare_losses(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference,
                            const CompareOptions& options = {}) {
  return compare_paired(variant, reference, kLower, choose_scale(MetricKind::minimised, variant, reference), options);
}

CompareOptions mild(double min_effect = 0) {
  CompareOptions options;
  options.resamples = 10;
  options.min_effect = min_effect;
  return options;
}

RatioText text_of(double value, double low, double high, RatioForm form) {
  return {Effect{Estimand::mean_difference, value, {low, high, .95}}, form};
}

}  // namespace

// The logarithms of the ratios are −0.1 … −0.6; by hand, 2/2⁶, limits the smallest and the largest.
TEST_CASE("positive losses are compared as ratios") {
  std::vector<Outcome> variant, reference;
  for (const double d : {.1, .2, .3, .4, .5, .6}) {
    reference.push_back(1000 * d);  // of any size
    variant.push_back(1000 * d * std::exp(-d));
  }
  const PairedResult result = compare_losses(variant, reference);
  CHECK(result.values == PairedValues::log_ratio);
  CHECK(result.effect->value == Approx(-.35));
  CHECK(result.effect->interval.low == Approx(-.6));
  CHECK(result.effect->interval.high == Approx(-.1));
  CHECK(result.effect->sd == Approx(std::sqrt(.175 / 5)));
  CHECK(result.p == Approx(2.0 / 64));
  CHECK(result.standardised_effect == Approx(.35 / result.effect->sd));
  CHECK(result.difference->mean == Approx(mean({1000 * .1 * std::expm1(-.1), 1000 * .2 * std::expm1(-.2), 1000 * .3 * std::expm1(-.3),
                                                1000 * .4 * std::expm1(-.4), 1000 * .5 * std::expm1(-.5), 1000 * .6 * std::expm1(-.6)})));
  CHECK_FALSE(result.difference->interval);  // it could contradict the verdict
  const Judgement judgement = judge({result}).front();
  CHECK(judgement.verdict == Verdict::better);
  CHECK(verdict_sentence(result, judgement) == "better: −30 % [−45, −10], p = 0.0312, 6 of 6 seeds");
  CHECK(verdict_sentence(result, judgement, RatioForm::factor) == "better: ÷1.42 [÷1.82, ÷1.11], p = 0.0312, 6 of 6 seeds");
  const PairedResult swapped = compare_losses(reference, variant);
  CHECK(swapped.effect->value == Approx(.35));
  CHECK(judge({swapped}).front().verdict == Verdict::worse);
}

TEST_CASE("an interval of ratios leaves out 1 exactly when the test rejects, by mean and by ranks") {
  SplitMix64 random(11);
  std::size_t rejected = 0, by_ranks = 0;
  for (int study = 0; study < 300; ++study) {
    std::vector<Outcome> variant, reference;
    for (int i = 0; i < 10; ++i)
      for (auto* side : {&variant, &reference}) {
        const double shift = side == &variant ? -.4 : 0, far = random.index(5) == 0 ? 100 : 1;
        side->push_back(random.index(100) == 0 ? std::nullopt : Outcome(far * std::exp(.4 * simulate::normal(random) + shift)));
      }
    const PairedResult result = compare_losses(variant, reference, mild());
    CHECK(result.effect->interval.excludes(0) == (result.p < .05));
    rejected += result.p < .05;
    by_ranks += result.test == PairedTest::signed_rank;
  }
  CHECK(rejected > 20);
  CHECK(rejected < 280);
  CHECK(by_ranks > 50);
  CHECK(by_ranks < 290);
}

TEST_CASE("no meaningful difference between ratios is within a factor of 1 + min_effect") {
  std::vector<Outcome> variant, reference;
  for (int i = 0; i < 10; ++i) {
    reference.push_back(3.0 + i);
    variant.push_back((3.0 + i) * (1 + .001 * (i - 4)));
  }
  const PairedResult result = compare_losses(variant, reference, mild(std::log1p(.05)));
  const Judgement judgement = judge({result}).front();
  CHECK(judgement.verdict == Verdict::no_meaningful_difference);
  CHECK_THAT(verdict_sentence(result, judgement), ContainsSubstring("+0.05 % [−0.18, +0.27] is within a factor of 1.05, p = 0.00"));
  CHECK(judge({compare_losses(variant, reference, mild(std::log1p(.0001)))}).front().verdict != Verdict::no_meaningful_difference);
}

TEST_CASE("what has no logarithm, or no mean, is refused") {
  const std::vector<Outcome> positive{1.0, 2.0}, zero{0.0, 1.0}, gap{1.0, std::nullopt};
  const Scale ratio{PairedValues::log_ratio, PairedTest::sign_flip_of_mean, ""};
  CHECK_THROWS_WITH(compare_paired(positive, zero, kLower, ratio), "a log ratio of 0: it needs positive values");
  CHECK_THROWS_WITH(compare_paired(positive, gap, kLower, ratio), "a test of the mean with 1 of 4 runs without a value");
  CHECK_THROWS_WITH(geometric_mean({1, 0}, .95), "a geometric mean of 0: it needs positive values");
}

// A fifth of the runs 100 times larger, the variant 20 % better otherwise: the mean finds .08 in 20 seeds, ranks .41.
TEST_CASE("where a fifth of the runs is bad ranks see what the mean does not", "[calibration]") {
  const std::size_t studies = simulate::num_studies(1000);
  SplitMix64 random(5);
  std::size_t chosen = 0, by_mean = 0, raw = 0, bad = 0;
  for (std::size_t study = 0; study < studies; ++study) {
    std::vector<Outcome> variant, reference;
    for (int i = 0; i < 20; ++i)
      for (auto* side : {&variant, &reference})
        side->push_back((side == &variant ? .8 : 1.0) * std::exp(.11 * simulate::normal(random)) * (random.index(5) == 0 ? 100.0 : 1.0));
    const auto found = [&](const PairedResult& result) { return judge({result}).front().verdict == Verdict::better; };
    chosen += found(compare_losses(variant, reference, mild()));
    by_mean += found(compare_paired(variant, reference, kLower, {PairedValues::log_ratio, PairedTest::sign_flip_of_mean, ""}, mild()));
    raw += found(compare_paired(variant, reference, kLower, mild()));
    bad += bad_runs(variant, reference).variant;
  }
  const auto share = [&](std::size_t count) { return static_cast<double>(count) / static_cast<double>(studies); };
  simulate::print("power, a fifth of runs x 100, on the chosen scale", 20, share(chosen));
  simulate::print("power, the same by the mean log ratio", 20, share(by_mean));
  simulate::print("power, the same by the mean difference", 20, share(raw));
  CHECK(share(chosen) >= .3);
  CHECK(share(by_mean) <= .15);
  CHECK(share(raw) <= .15);
  CHECK(share(bad) == Approx(4).margin(.2));  // of 20 runs
}

TEST_CASE("ratios are said in percent near 1 and as factors far from it") {
  const RatioText near = text_of(std::log(.917), std::log(.879), std::log(.97), RatioForm::percent);
  CHECK(near.with_interval() == "−8.3 % [−12.1, −3.0]");
  CHECK(near.size(std::log(.917)) == "8.3");
  CHECK(text_of(0, std::log(.9), std::log(1.1), RatioForm::percent)(0) == "0");
  CHECK(text_of(.5, -kInf, kInf, RatioForm::percent).with_interval() == "+64.9 % (no interval)");
  CHECK(RatioText({Estimand::typical_difference, 0, empty_interval(0, .95)}, RatioForm::percent).with_interval() ==
        "0.0 % (empty interval)");
  const RatioText far = text_of(std::log(1 / 320.), std::log(1 / 830.), std::log(1 / 120.), RatioForm::factor);
  CHECK(far.with_interval() == "÷320 [÷830, ÷120]");
  CHECK(text_of(std::log(3.14), std::log(.5), std::log(19.), RatioForm::factor).with_interval() == "×3.1 [÷2.0, ×19]");
  CHECK(text_of(std::log(3.14), std::log(1.2), kInf, RatioForm::factor).with_interval() == "×3.1 [×1.2, ×∞]");
  CHECK(text_of(-kInf, -kInf, std::log(.5), RatioForm::factor).with_interval() == "÷∞");
  CHECK(text_of(20, 18, 22, RatioForm::factor)(20) == "×4.9e+08");
}

TEST_CASE("one form of ratios serves a whole comparison") {
  const auto result = [](double ratio, double spread) {
    std::vector<Outcome> variant, reference;
    for (int i = 0; i < 8; ++i) {
      reference.push_back(1.0);
      variant.push_back(ratio * std::exp(spread * (i - 3.5)));
    }
    return compare_losses(variant, reference, mild());
  };
  CHECK(ratio_form({}) == RatioForm::percent);
  CHECK(ratio_form({result(.9, .01), result(1.2, .01)}) == RatioForm::percent);
  CHECK(ratio_form({result(.9, .01), result(.1, .01)}) == RatioForm::factor);
  CHECK(ratio_form({result(.9, .01), result(1, 2)}) == RatioForm::factor);                             // its interval reaches that far
  CHECK(ratio_form({compare_paired({1.0, 90.0}, {2.0, 3.0}, kLower, mild())}) == RatioForm::percent);  // no ratio at all
}

TEST_CASE("the ratio of two geometric means is that of the mean log ratio") {
  const std::vector<double> a{1.5, .2, 3.1, 8.0}, b{2.5, .3, 2.9, 4.0};
  const PairedResult result = compare_losses({a.begin(), a.end()}, {b.begin(), b.end()});
  CHECK(geometric_mean(a, .95).value / geometric_mean(b, .95).value == Approx(std::exp(result.effect->value)));
  const Centre of_powers = geometric_mean({1, 10, 100}, .95);
  CHECK(of_powers.value == Approx(10));
  CHECK(of_powers.interval.high == Approx(std::pow(10, 1 + 4.30265273 / std::sqrt(3.0))));  // t at 0.975 and 2 degrees of freedom
}

// Ranks of the limits at 95 %, from tables of the sign test: 1 at 6 to 8, 2 at 9 to 11, 6 at 20.
TEST_CASE("a median has the exact interval between order statistics") {
  const auto of = [](int n) {
    std::vector<double> values;
    for (int i = n; i > 0; --i) values.push_back(i);
    return median_with_interval(values, .95);
  };
  CHECK(of(5).interval.unbounded());
  CHECK(of(6).value == 3.5);
  CHECK(of(6).interval.low == 1);
  CHECK(of(6).interval.high == 6);
  CHECK(of(9).interval.low == 2);
  CHECK(of(20).interval.low == 6);
  CHECK(of(20).interval.high == 15);
  CHECK(median_with_interval({1, 2, 3, kInf, kInf, kInf, kInf}, .95).value == kInf);
}
