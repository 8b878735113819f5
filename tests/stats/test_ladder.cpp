// Ladders: published examples, laws that are known, and the coverage of a multiplier's interval.
#include <array>
#include <cmath>
#include <vector>

#include "ffn/stats/ladder.hpp"
#include "ffn/stats/paired.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

namespace {

// A public ladder of single runs, whose next size, 1e21 FLOPs, was measured at 2.599 (marin, shared reference field.md §3a).
const Ladder kPublic{{{1e18, {3.5273}}, {3e18, {3.3398}}, {1e19, {3.1494}}, {3e19, {3.0066}}, {1e20, {2.8509}}, {3e20, {2.7222}}}};
constexpr double kFloor = 1.6, kExponent = .0941;

struct Truth {
  double floor = .9, exponent = .21;
  std::vector<double> scale{.787, .76, .80};
  std::vector<double> compute{3.7e11, 1.2e12, 5.9e12, 1.9e13};
};

/// Losses of a known law with the noise of our own text ladder: seeds' luck .4 %, shared by variants, and .4 % of each run.
Ladder simulated(const Truth& truth, std::size_t seeds, double noise, SplitMix64& random) {
  Ladder ladder(truth.scale.size());
  for (const double c : truth.compute) {
    std::vector<double> luck(seeds);
    for (double& x : luck) x = noise * simulate::normal(random);
    for (std::size_t v = 0; v < ladder.size(); ++v) {
      Rung rung{c, {}};
      const double loss = truth.floor + truth.scale[v] * std::pow(c / truth.compute[0], -truth.exponent);
      for (std::size_t s = 0; s < seeds; ++s) rung.losses.push_back(loss * std::exp(luck[s] + noise * simulate::normal(random)));
      ladder[v].push_back(rung);
    }
  }
  return ladder;
}

/// Least error of F pieces of equal width, each a polynomial of this degree, for sin 2πx on [0, 1]: what is left beside the projection on
/// Legendre polynomials, by Gauss's rule of 5 points.
double piecewise_error(int pieces, std::size_t degree) {
  constexpr double kPoints[] = {-.9061798459386640, -.5384693101056831, 0, .5384693101056831, .9061798459386640};
  constexpr double kWeights[] = {.2369268850561891, .4786286704993665, .5688888888888889, .4786286704993665, .2369268850561891};
  double squares = 0;
  for (int piece = 0; piece < pieces; ++piece) {
    std::array<double, 5> rest{};
    for (std::size_t i = 0; i < 5; ++i) rest[i] = std::sin(2 * M_PI * (piece + (kPoints[i] + 1) / 2) / pieces);
    for (std::size_t d = 0; d <= degree; ++d) {
      const auto legendre = [&](double t) { return d == 0 ? 1 : d == 1 ? t : (3 * t * t - 1) / 2; };
      double part = 0;
      for (std::size_t i = 0; i < 5; ++i) part += (static_cast<double>(d) + .5) * kWeights[i] * rest[i] * legendre(kPoints[i]);
      for (std::size_t i = 0; i < 5; ++i) rest[i] -= part * legendre(kPoints[i]);
    }
    for (std::size_t i = 0; i < 5; ++i) squares += kWeights[i] / 2 * rest[i] * rest[i] / pieces;
  }
  return std::sqrt(squares);
}

}  // namespace

TEST_CASE("multiplier and effective speedup are those of a published example") {
  const double m = compute_multiplier(3.52, 3.5422, kFloor, kExponent);
  CHECK(m == Approx(1.12995).epsilon(1e-5));
  CHECK(effective_speedup(m, 410'000, 433'986) == Approx(1.06749).epsilon(1e-5));
  CHECK(effective_speedup(compute_multiplier(3.8028, 3.8104, kFloor, kExponent), 399'414, 407'378) == Approx(1.0170).margin(5e-5));
  CHECK(effective_speedup(compute_multiplier(3.4298, 3.4339, kFloor, kExponent), 270'128, 274'431) == Approx(1.0080).margin(5e-5));
  CHECK_THROWS_WITH(compute_multiplier(1.5, 3, kFloor, kExponent), ContainsSubstring("must be above the floor 1.6"));
}

TEST_CASE("a law predicts the next size of a public ladder") {
  const LossLaw law = fit_law(kPublic, kFloor);
  CHECK(std::exp(law.log_scale[0]) == Approx(96.71).epsilon(1e-4));
  CHECK(law.exponent == Approx(.09444).epsilon(1e-4));
  LadderOptions options;
  options.floor = kFloor;
  const Estimate next = predictions(kPublic, {1e21}, nullptr, options).front();
  CHECK(next.value == Approx(2.6050).margin(5e-5));
  CHECK(next.interval.low == Approx(2.5923).margin(5e-5));
  CHECK(next.interval.high == Approx(2.6178).margin(5e-5));
  CHECK_FALSE(next.interval.excludes(2.599));

  const Ladder first_five{{kPublic[0].begin(), kPublic[0].end() - 1}};
  CHECK(fit_law(first_five, kFloor).loss(0, 1e21) == Approx(2.6097).margin(5e-5));
  CHECK(fit_law(first_five, kFloor).loss(0, 3e20) == Approx(2.7301).margin(5e-5));
}

TEST_CASE("a floor that is not given is fitted") {
  const LossLaw law = fit_law(kPublic, std::nullopt);
  CHECK(law.floor == Approx(1.45).margin(.03));  // the error is flat about it: 1.43 to 1.46 by other weights
  CHECK(law.loss(0, 1e21) == Approx(2.599).margin(.001));
  Truth truth;
  SplitMix64 random(1);
  const LossLaw exact = fit_law(simulated(truth, 1, 0, random), std::nullopt);
  CHECK(exact.floor == Approx(truth.floor).epsilon(1e-3));
  CHECK(exact.exponent == Approx(truth.exponent).epsilon(1e-3));
  CHECK(exact.multiplier(1, 0) == Approx(std::pow(.787 / .76, 1 / .21)).epsilon(1e-3));
  CHECK(exact.multiplier(2, 1) * exact.multiplier(1, 2) == Approx(1));
}

// With widths F, a ReLU layer of one input is piecewise linear and a gated one piecewise quadratic: the least errors fall as F^−2 and F^−3
// (arXiv:2602.14495).
TEST_CASE("the fit finds the exponents of the best piecewise functions") {
  for (const std::size_t degree : {1, 2}) {
    Ladder ladder(1);
    for (const int pieces : {16, 32, 64}) ladder[0].push_back({static_cast<double>(pieces), {piecewise_error(pieces, degree)}});
    CHECK(-fit_law(ladder, 0).exponent == Approx(-1.0 - static_cast<double>(degree)).margin(.01));
  }
}

TEST_CASE("an interval of a multiplier covers it in 93 % of simulated ladders or more", "[calibration]") {
  const Truth truth;
  const double m = std::pow(.787 / .76, 1 / truth.exponent);
  for (const std::size_t seeds : {4, 8})
    for (const std::optional<double> floor : {std::optional<double>(), std::optional<double>(truth.floor)}) {
      SplitMix64 random(3);
      LadderOptions options;
      options.floor = floor;
      options.resamples = 100;
      const std::size_t studies = simulate::num_studies(400);
      std::size_t covered = 0, bounded = 0;
      for (std::size_t i = 0; i < studies; ++i) {
        options.seed = i;
        const Estimate estimate = multipliers(simulated(truth, seeds, .004, random), options)[1];
        covered += !estimate.interval.excludes(m);
        bounded += !estimate.interval.unbounded() && estimate.interval.high < 2 * m;
      }
      const double share = static_cast<double>(covered) / static_cast<double>(studies);
      simulate::print(floor ? "coverage of a multiplier, floor given" : "coverage of a multiplier, floor fitted", seeds, share);
      CHECK(share >= .93);  // of 3,000 ladders .944 to .951
      CHECK(bounded > studies * 9 / 10);
    }
}

TEST_CASE("what a seed's luck does to all variants alike leaves a multiplier's interval narrow") {
  Ladder ladder(2);
  for (const double compute : {1e11, 1e12, 1e13, 1e14})
    for (std::size_t v = 0; v < 2; ++v) {
      Rung rung{compute, {}};
      for (int seed = 0; seed < 8; ++seed)
        rung.losses.push_back((v ? 1.05 : 1) * std::pow(compute, -.2) * std::exp(.1 * std::sin(seed * 7.0)));
      ladder[v].push_back(rung);
    }
  LadderOptions options;
  options.floor = 0;
  const Estimate m = multipliers(ladder, options).at(1);
  CHECK(m.value == Approx(std::pow(1.05, -5)));
  CHECK(m.interval.high < 1.001 * m.interval.low);
}

TEST_CASE("the held-out size of a true law lies in its prediction interval, that of a bent one does not") {
  std::size_t held = 0, refused = 0;
  constexpr std::size_t kLadders = 60;
  SplitMix64 random(5);
  for (std::size_t i = 0; i < kLadders; ++i) {
    for (const double bend : {1.0, 1.06}) {
      Ladder ladder = simulated({}, 4, .004, random);
      std::vector<Rung> last;
      std::vector<double> compute;
      for (auto& rungs : ladder) {
        for (double& loss : rungs.back().losses) loss *= bend;
        last.push_back(rungs.back());
        compute.push_back(rungs.back().compute);
        rungs.pop_back();
      }
      LadderOptions options;
      options.resamples = 100;
      options.seed = i;
      const Estimate predicted = predictions(ladder, compute, &last, options).front();
      double measured = 0;
      for (const double loss : last[0].losses) measured += std::log(loss) / 4;
      const bool inside = !predicted.interval.excludes(std::exp(measured));
      (bend == 1.0 ? held : refused) += bend == 1.0 ? inside : !inside;
    }
  }
  CHECK(held >= kLadders * 9 / 10);
  CHECK(refused >= kLadders / 2);
}

TEST_CASE("refits say where curves cross beyond the largest size, and that parallel ones keep their order") {
  // With .87/.787 of the reference's excess and the larger exponent they meet at 148 times the smallest compute, 2.9 times the
  // largest.
  const auto shares = [](double scale, double exponent, const std::vector<double>& times) {
    SplitMix64 random(11);
    Truth truth, other;
    truth.scale = {.787}, other.scale = {scale}, other.exponent = exponent;
    Ladder ladder = simulated(truth, 8, .0005, random);
    ladder.push_back(simulated(other, 8, .0005, random)[0]);
    LadderOptions options;
    options.floor = truth.floor;
    options.resamples = 400;
    return shares_that_hold(ladder, times, options)[1];
  };
  const auto crossing = shares(.87, .23, {1, 2, 5, 30});
  for (const std::size_t before : {0, 1}) CHECK(crossing[before] > .95);
  for (const std::size_t after : {2, 3}) CHECK(crossing[after] < .05);
  for (const double scale : {.76, .87}) CHECK(shares(scale, .21, {30})[0] > .98);
  SplitMix64 random(11);
  CHECK(shares_that_hold(simulated({}, 1, .004, random), {30}).empty());
}

TEST_CASE("a slope over size is that of each seed's log ratio, for each doubling") {
  const std::vector<Rung> reference{{1, {2, 3}}, {4, {1, 1}}, {16, {.5, .7}}};
  std::vector<Rung> variant = reference;
  for (std::size_t k = 0; k < 3; ++k) {
    variant[k].losses[0] *= std::exp(.03 - .01 * static_cast<double>(k));
    variant[k].losses[1] *= std::exp(-.02 * static_cast<double>(k));
  }
  const auto slopes = log_ratio_slopes(variant, reference, {16, 32, 64});
  CHECK(slopes[0] == Approx(-.01));
  CHECK(slopes[1] == Approx(-.02));
  CHECK_THROWS_WITH(log_ratio_slopes(variant, reference, {16, 32}), "2 sizes of a ladder with 3");
}

TEST_CASE("exponents that differ are found, seed by seed") {
  SplitMix64 random(7);
  Truth other;
  other.exponent = .25;
  const auto exact = exponent_differences(simulated(other, 2, 0, random)[0], simulated({}, 2, 0, random)[0], .9);
  CHECK(exact[0] == Approx(.04));
  CHECK(exact[1] == Approx(.04));
  const auto same = simulated({}, 8, .004, random);
  CHECK(compare_contrast(exponent_differences(same[1], same[0], .9), Direction::lower_is_better, PairedValues::difference).p > .05);
}

TEST_CASE("decision accuracy counts the pairs that keep the order of the largest size") {
  const auto curve = [](double small, double large) { return std::vector<Rung>{{1, {small, small}}, {2, {large, large}}}; };
  const Ladder ladder{curve(3, 1), curve(2, 1.1), curve(4, 1.2), curve(5, 1.3)};
  const DecisionAccuracy small = decision_accuracy(ladder, 0, .95);
  CHECK(small.num_pairs == 6);
  CHECK(small.num_agreeing == 5);
  // Wilson's interval of 5/6 with n = 2, by hand: z² = 3.8415.
  CHECK(small.interval.low == Approx((5. / 6 + 3.8415 / 4 - 1.96 * std::sqrt(5. / 72 + 3.8415 / 16)) / (1 + 3.8415 / 2)).epsilon(1e-4));
  CHECK(small.interval.high == Approx((5. / 6 + 3.8415 / 4 + 1.96 * std::sqrt(5. / 72 + 3.8415 / 16)) / (1 + 3.8415 / 2)).epsilon(1e-4));
  CHECK(decision_accuracy(ladder, 1, .95).num_agreeing == 6);
}

TEST_CASE("a ladder that has no law is refused") {
  CHECK_THROWS_WITH(fit_law({{{1, {2}}}}, 0.0), "a ladder needs at least 2 sizes");
  CHECK_THROWS_WITH(fit_law({{{1, {2}}, {2, {1}}}}, std::nullopt), "a law with a fitted floor needs at least 3 sizes, got 2");
  CHECK_THROWS_WITH(fit_law({{{1, {2}}, {2, {1}}}}, 1.0), ContainsSubstring("below every loss, the smallest is 1"));
  CHECK_THROWS_WITH(fit_law({{{1, {2}}, {2, {1, 1}}}}, 0.0), "a ladder's rungs need the same seeds");
  CHECK_THROWS_WITH(fit_law({{{1, {2}}, {2, {NAN}}}}, 0.0), ContainsSubstring("needs finite values"));
  const Ladder rising{{{1, {1, 1}}, {2, {2, 2.1}}}, {{1, {1, 1}}, {2, {2, 2.2}}}};
  CHECK(fit_law(rising, 0.0).exponent < 0);
  LadderOptions options;
  options.floor = 0;
  CHECK(multipliers(rising, options)[1].interval.high == INFINITY);
}
