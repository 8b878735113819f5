// Chances of a new study, from a pilot and the prior.
#include <cmath>
#include <limits>

#include "ffn/stats/chance.hpp"
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
      CHECK(chance_of_verdict(row.pilot, plans[i], .05) == Approx(row.chance[i]).margin(5e-5));
      CHECK(chance_of_verdict({row.pilot.num_seeds, -row.pilot.standardised_effect}, plans[i], .05) == Approx(row.chance[i]).margin(5e-5));
    }
    const auto seeds_for = [&](double chance) {
      std::size_t n = 2;
      while (chance_of_verdict(row.pilot, n, .05) < chance) ++n;
      return n;
    };
    CHECK(seeds_for(.5) == row.for_half);
    CHECK(seeds_for(.8) == row.for_80);
  }
}

TEST_CASE("a huge pilot has the power of the t test") {
  const Pilot pilot{100'000'000, .5};
  CHECK(chance_of_verdict(pilot, 34, .05) == Approx(paired_power(.5, 34, .05)).margin(.01));
}

TEST_CASE("a margin adds the chance of no meaningful difference") {
  const Pilot none{20, 0.0};
  CHECK(chance_of_verdict(none, 100, .05, .5) > chance_of_verdict(none, 100, .05) + .4);
  CHECK(chance_of_verdict(none, 10, .05, .1) == chance_of_verdict(none, 10, .05));  // ten seeds cannot show so small a margin
  CHECK(chance_of_verdict(none, 50, .05, 10) == 1);
}

TEST_CASE("a pilot without spread is sure and two seeds are never") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(chance_of_verdict({6, infinity}, 20, .05) == 1);
  CHECK(chance_of_verdict({2, infinity}, 20, .05) < .5);
  CHECK_THROWS_WITH(chance_of_verdict({1, .5}, 20, .05), "a pilot needs at least 2 seeds, got 1");
  CHECK_THROWS_WITH(chance_of_verdict({8, .5}, 1, .05), "a study needs at least 2 seeds, got 1");
  CHECK_THROWS_WITH(chance_of_verdict({8, std::nan("")}, 20, .05), "standardised effect is nan");
  CHECK_THROWS_WITH(chance_of_verdict({8, .5}, 20, .05, -1), "margin (-1) must not be negative");
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
    const double chance = chance_of_verdict({pilot_seeds, mean(pilot) / standard_deviation(pilot)}, n, .05);
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
