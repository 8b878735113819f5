// Chances of a new study, from a pilot and the prior.
#include <cmath>
#include <limits>

#include "ffn/stats/distributions.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/stats/summary.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

TEST_CASE("chances agree with the golden values") {
  struct Row {
    Pilot pilot;
    double chance[4];
    std::size_t for_half, for_80;
  };
  const Row rows[] = {{{8, .5}, {.3372, .5505, .6783, .7725}, 40, 259},
                      {{8, .7}, {.4499, .6726, .7830, .8540}, 24, 116},
                      {{20, .4}, {.3171, .5648, .7149, .8151}, 39, 177}};
  const std::size_t plans[] = {20, 50, 100, 200};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(chance_of_verdict(row.pilot, plans[i], .05).if_different == Approx(row.chance[i]).margin(5e-5));
      CHECK(chance_of_verdict({row.pilot.num_seeds, -row.pilot.standardised_effect}, plans[i], .05).if_different ==
            Approx(row.chance[i]).margin(5e-5));
    }
    const auto seeds_for = [&](double chance) {
      std::size_t n = 2;
      while (chance_of_verdict(row.pilot, n, .05).if_different < chance) ++n;
      return n;
    };
    CHECK(seeds_for(.5) == row.for_half);
    CHECK(seeds_for(.8) == row.for_80);
  }
}

TEST_CASE("a huge pilot has the power of the t test") {
  const Pilot pilot{100'000'000, .5};
  CHECK(chance_of_verdict(pilot, 34, .05).if_different == Approx(paired_power(.5, 34, .05)).margin(.01));
  CHECK(chance_of_verdict(pilot, 34, .05).overall == Approx(chance_of_verdict(pilot, 34, .05).if_different));
}

TEST_CASE("a margin adds the chance of no meaningful difference") {
  const Pilot none{20, 0.0};
  const auto with = chance_of_verdict(none, 100, .05, .5), without = chance_of_verdict(none, 100, .05);
  CHECK(with.if_different > without.if_different + .4);
  CHECK(with.overall > .9);  // without a difference it is all but certain
  CHECK(without.overall < .35);
  // Ten seeds cannot show so small a margin.
  CHECK(chance_of_verdict(none, 10, .05, .1).if_different == chance_of_verdict(none, 10, .05).if_different);
  CHECK(chance_of_verdict(none, 10, .05, .1).overall == chance_of_verdict(none, 10, .05).overall);
  CHECK(chance_of_verdict(none, 50, .05, 10).if_different == 1);
  CHECK(chance_of_verdict(none, 50, .05, 10).overall == 1);
}

TEST_CASE("a pilot without spread is sure and two seeds are never") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(chance_of_verdict({6, infinity}, 20, .05).if_different == 1);
  CHECK(chance_of_verdict({2, infinity}, 20, .05).if_different < .5);
  CHECK(probability_of_difference({6, infinity}) == Approx(std::pow(2.5, 2.5) / (1 + std::pow(2.5, 2.5))));  // k = 1 + 6/4
  CHECK_THROWS_WITH(chance_of_verdict({1, .5}, 20, .05), "a pilot needs at least 2 seeds, got 1");
  CHECK_THROWS_WITH(chance_of_verdict({8, .5}, 1, .05), "a study needs at least 2 seeds, got 1");
  CHECK_THROWS_WITH(chance_of_verdict({8, std::nan("")}, 20, .05), "standardised effect is nan");
  CHECK_THROWS_WITH(chance_of_verdict({8, .5}, 20, .05, -1), "margin (-1) must not be negative");
}

// Trapezoids over the effect; the density of T is that of the noncentral t, by differences of its distribution.
TEST_CASE("the weight of a difference agrees with numerical integration of the noncentral t") {
  const auto density = [](double df, double noncentrality, double t) {
    const double step = 1e-4;
    return (detail::noncentral_t_above(df, noncentrality, t - step) - detail::noncentral_t_above(df, noncentrality, t + step)) / (2 * step);
  };
  for (const Pilot pilot : {Pilot{2, .3}, Pilot{8, 0}, Pilot{8, .5}, Pilot{8, -1.1}, Pilot{20, .4}, Pilot{50, .1}}) {
    const auto n = static_cast<double>(pilot.num_seeds);
    const double t = std::sqrt(n) * std::abs(pilot.standardised_effect), width = .01;
    double with = 0;
    for (int i = -300; i <= 300; ++i) {
      const double z = i * width;  // the effect in units of the prior's sd; beyond 3 lies 0.3 % of it, below what is asked for
      const double weight = std::exp(-z * z / 2) / std::sqrt(2 * 3.141592653589793) * width;
      with += weight * density(n - 1, std::sqrt(n) * kPriorEffect * z, t);
    }
    CHECK(probability_of_difference(pilot) == Approx(with / (with + density(n - 1, 0, t))).margin(2e-3));
  }
}

namespace {

struct Row {
  double said = 0, kept = 0;
  std::size_t count = 0;
  double promised() const { return said / static_cast<double>(count); }
  double share() const { return kept / static_cast<double>(count); }
};

/// Undecided pilots of 8 seeds whose fresh study of 50 gave a verdict: what was said, and what happened.
struct Kept {
  Row if_different, overall;
};

template <class Effect>
Kept after_undecided_pilots(std::uint64_t seed, std::size_t studies, Effect effect_of) {
  const std::size_t pilot_seeds = 8, n = 50;
  SplitMix64 random(seed);
  Kept kept;
  for (std::size_t study = 0; study < studies; ++study) {
    const double effect = effect_of(random);
    std::vector<double> pilot(pilot_seeds), fresh(n);
    for (double& d : pilot) d = effect + simulate::normal(random);
    for (double& d : fresh) d = effect + simulate::normal(random);
    if (sign_flip_test(pilot).p < .05) continue;
    const FreshChance chance = chance_of_verdict({pilot_seeds, mean(pilot) / standard_deviation(pilot)}, n, .05);
    const double t = mean(fresh) / standard_deviation(fresh) * std::sqrt(static_cast<double>(n));
    const bool told = std::abs(t) > detail::critical_t_of_seeds(n, .025);
    for (auto* row : {&kept.if_different, &kept.overall}) {
      row->said += row == &kept.overall ? chance.overall : chance.if_different;
      row->kept += told;
      ++row->count;
    }
  }
  return kept;
}

}  // namespace

TEST_CASE("what is said overall is what happens where half of the questions have no difference", "[calibration]") {
  const std::size_t studies = simulate::num_studies(4000);
  const auto from_prior = [](SplitMix64& random) { return kPriorEffect * simulate::normal(random); };
  const auto none = after_undecided_pilots(31, studies, [](SplitMix64&) { return 0.0; });
  const auto some = after_undecided_pilots(32, studies, from_prior);
  const auto half =
      after_undecided_pilots(33, studies, [&](SplitMix64& random) { return random.index(2) == 0 ? 0.0 : from_prior(random); });
  const auto print = [](const std::string& truth, const Kept& kept) {
    simulate::print("said if different, truth: " + truth, 50, kept.if_different.promised());
    simulate::print("said overall, truth: " + truth, 50, kept.overall.promised());
    simulate::print("happened, truth: " + truth, 50, kept.overall.share());
  };
  print("no difference", none);
  print("N(0, 1/4)", some);
  print("either", half);
  const auto slack = [](const Row& row) { return .02 + 3 * std::sqrt(row.share() * (1 - row.share()) / static_cast<double>(row.count)); };
  CHECK(std::abs(half.overall.promised() - half.overall.share()) <= slack(half.overall));
  CHECK(std::abs(some.if_different.promised() - some.if_different.share()) <= slack(some.if_different));
  CHECK(none.overall.promised() < .26);  // 0.46 was said, and 0.05 happens
  CHECK(none.overall.share() < .07);
}

TEST_CASE("over effects drawn from the prior what is said is what happens", "[calibration]") {
  const std::size_t studies = simulate::num_studies(4000), pilot_seeds = 8, n = 20;
  SplitMix64 random(21);
  // Studies by what was said, below and above 1/3: the mean of what was said against the share that happened.
  double said[2] = {0, 0};
  std::size_t count[2] = {0, 0}, happened[2] = {0, 0};
  for (std::size_t study = 0; study < studies; ++study) {
    const double effect = kPriorEffect * simulate::normal(random);
    std::vector<double> pilot(pilot_seeds), fresh(n);
    for (double& d : pilot) d = effect + simulate::normal(random);
    for (double& d : fresh) d = effect + simulate::normal(random);
    const double chance = chance_of_verdict({pilot_seeds, mean(pilot) / standard_deviation(pilot)}, n, .05).if_different;
    const std::size_t row = chance < 1.0 / 3.0 ? 0 : 1;
    said[row] += chance;
    ++count[row];
    happened[row] += sign_flip_test(fresh).p < .05;
  }
  for (std::size_t row = 0; row < 2; ++row) {
    const auto num = static_cast<double>(count[row]);
    const double promised = said[row] / num, kept = static_cast<double>(happened[row]) / num;
    simulate::print("chance said", n, promised);
    simulate::print("chance kept", n, kept);
    // 0.02: the pilot's sd stands for the true one
    CHECK(std::abs(promised - kept) <= .02 + 3 * std::sqrt(kept * (1 - kept) / num));
  }
}
