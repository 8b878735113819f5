#include <cmath>
#include <cstdlib>
#include <limits>

#include "ffn/stats/tuning.hpp"
#include "simulate.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

namespace {

using Outcomes = PointOutcomes;
constexpr auto kLow = Direction::lower_is_better, kHigh = Direction::higher_is_better;

/// On the scale that follows from the variant alone.
PointChoice choose_point(const Outcomes& outcomes, Direction direction, bool line) {
  return ffn::stats::choose_point(outcomes, direction, line, point_scale({outcomes}, direction));
}

}  // namespace

TEST_CASE("the best mean is chosen", "[tuning]") {
  const Outcomes losses = {{0.5, 0.6}, {0.1, 0.2}, {0.3, 0.4}};
  CHECK(choose_point(losses, kLow, false).index == 1);
  CHECK(choose_point(losses, kHigh, false).index == 0);
  CHECK(choose_point(losses, kLow, false).scores[2].mean == (0.3 + 0.4) / 2);
}

TEST_CASE("a standard error is of what is judged, of the runs that have a value; one alone has none", "[tuning]") {
  const Outcomes losses = {{1.0, 2.0, std::nullopt, 3.0}, {0.5, std::nullopt, std::nullopt, std::nullopt}};
  const auto choice = choose_point(losses, kLow, true);
  CHECK(point_scale({losses}, kLow) == PointScale::logarithms);
  CHECK(*choice.scores[0].judged == Approx(std::log(6.0) / 3));
  CHECK(*choice.scores[0].standard_error == Approx(0.32075).margin(5e-6));  // s = 0.55555 of 0, 0.69315 and 1.09861, over √3
  CHECK(*choice.scores[0].mean == 2);
  CHECK_FALSE(choice.scores[1].standard_error);
  const auto values = choose_point(losses, kHigh, true);
  CHECK(point_scale({losses}, kHigh) == PointScale::values);
  CHECK(values.scores[0].judged == 2);
  CHECK(*values.scores[0].standard_error == Approx(1 / std::sqrt(3.0)));  // s = 1
}

TEST_CASE("positive losses are averaged as logarithms, and by ranks where one is 0", "[tuning]") {
  // Means 0.34 and 0.3; the logarithms' favour the first by far.
  const Outcomes positive = {{0.001, 0.001, 1.0}, {0.3, 0.3, 0.3}};
  CHECK(choose_point(positive, kLow, false).index == 0);
  const Outcomes with_zero = {{0.001, 0.001, 1.0, 0.3}, {0.3, 0.3, 0.3, 0.0}};  // ranks 2.5, 2.5, 8, 5.5 and 5.5, 5.5, 5.5, 1
  const auto by_ranks = choose_point(with_zero, kLow, false);
  CHECK(*by_ranks.scores[0].judged == 4.625);
  CHECK(*by_ranks.scores[1].judged == 4.375);
  CHECK(by_ranks.index == 1);
  CHECK(choose_point({{0.001, 0.001, 1.0}, {0.35, 0.35, 0.35}}, kHigh, false).index == 1);
  CHECK_THROWS_WITH(ffn::stats::choose_point(with_zero, kLow, false, PointScale::logarithms), "a logarithm of 0");
}

TEST_CASE("a loss of 0 among many changes the scale for all variants, and neither for one alone nor to what the largest loss decides",
          "[tuning]") {
  // The first rate is better with every seed but one, which is 100 times worse; the other has a loss of exactly 0.
  const Outcomes relu = {{0.001, 0.001, 0.001, 0.001, 0.5}, {0.01, 0.01, 0.01, 0.01, 0.01}};
  const Outcomes mish = {{0.001, 0.001, 0.001, 0.001, 0.5}, {0.01, 0.01, 0.0, 0.01, 0.01}};
  CHECK(point_scale({relu}, kLow) == PointScale::logarithms);
  CHECK(point_scale({relu, mish}, kLow) == PointScale::ranks);
  for (const auto& variant : {relu, mish}) CHECK(ffn::stats::choose_point(variant, kLow, false, PointScale::ranks).index == 0);
  CHECK(ffn::stats::choose_point(mish, kLow, false, PointScale::values).index == 1);  // as it was until this test
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(point_scale({{{nan}, {std::nullopt}, {0.5}}}, kLow) == PointScale::logarithms);  // runs without a value have no scale
}

TEST_CASE("fewer runs without a value are better, whatever the others are", "[tuning]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto choice = choose_point({{0.001, std::nullopt}, {5.0, 5.0}, {0.001, nan}}, kLow, true);
  CHECK(choice.index == 1);
  CHECK(choice.scores[0].bad == 1);
  CHECK(choice.scores[2].bad == 1);
  CHECK(choose_point({{std::nullopt, std::nullopt}, {std::nullopt, 0.1}}, kLow, false).index == 1);
  CHECK_FALSE(choose_point({{std::nullopt}}, kLow, false).scores[0].mean);
}

TEST_CASE("the middle of neighbours that are as good is chosen", "[tuning]") {
  // Differences to the last: mean 0.01, standard error 0.02.
  const std::vector<Outcome> best = {1.00, 1.00, 1.00, 1.00}, as_good = {1.05, 0.97, 1.05, 0.97}, worse = {1.5, 1.5, 1.5, 1.5};
  CHECK(choose_point({worse, as_good, as_good, best}, kHigh, true).index != 2);  // the other direction: worse is the best
  CHECK(choose_point({worse, as_good, as_good, best}, kLow, true).index == 2);
  CHECK(choose_point({worse, as_good, best, worse}, kLow, true).index == 2);  // of two the better
  CHECK(choose_point({worse, best, as_good, worse}, kLow, true).index == 1);
  CHECK(choose_point({as_good, worse, best, worse}, kLow, true).index == 2);  // no neighbour
  CHECK(choose_point({worse, as_good, as_good, best}, kLow, false).index == 3);
  // One seed has no standard error: only what is equal is as good.
  CHECK(choose_point({{1.001}, {1.0}, {1.001}}, kLow, true).index == 1);
  CHECK(choose_point({{1.001}, {1.0}, {1.0}, {1.0}}, kLow, true).index == 2);
}

// Seven rates, each next one away from the best worse by `step` sd of a run's noise. With the lower of two in the middle, as until 0.4,
// 37 %, 41 % and 23 % of the choices lay below, at and above the best (5 seeds, 0.25 sd), at a regret of 0.20 sd.
TEST_CASE("choices lie as often above the best value as below it, and cost less than the best mean does", "[tuning][calibration]") {
  const std::size_t studies = simulate::num_studies(4000), seeds = 5, best = 3;
  SplitMix64 random(1);
  for (const double step : {0.1, 0.25, 0.5}) {
    std::size_t below = 0, above = 0;
    double regret = 0, regret_of_mean = 0;
    for (std::size_t study = 0; study < studies; ++study) {
      Outcomes outcomes(7);
      const auto lost = [&](std::size_t point) { return step * std::abs(static_cast<double>(point) - static_cast<double>(best)); };
      for (std::size_t point = 0; point < 7; ++point)
        for (std::size_t seed = 0; seed < seeds; ++seed) outcomes[point].push_back(lost(point) + simulate::normal(random));
      const auto chosen = ffn::stats::choose_point(outcomes, kLow, true, PointScale::values).index;
      below += chosen < best;
      above += chosen > best;
      regret += lost(chosen);
      regret_of_mean += lost(ffn::stats::choose_point(outcomes, kLow, false, PointScale::values).index);
    }
    const auto n = static_cast<double>(studies);
    const double low = static_cast<double>(below) / n, high = static_cast<double>(above) / n;
    simulate::print("choices below the best value", seeds, low);
    simulate::print("choices above the best value", seeds, high);
    simulate::print("regret in sd", seeds, regret / n);
    CHECK(std::abs(low - high) <= 4 * std::sqrt((low + high) / n));
    CHECK(regret < regret_of_mean);
  }
}

TEST_CASE("a choice from nothing is refused", "[tuning]") {
  CHECK_THROWS_AS(choose_point({}, kLow, true), std::invalid_argument);
  CHECK_THROWS_AS(choose_point({{}}, kLow, true), std::invalid_argument);
  CHECK_THROWS_AS(choose_point({{0.1}, {0.1, 0.2}}, kLow, true), std::invalid_argument);
}

TEST_CASE("sensitivity is the mean cost of the points beyond the best one, no worse than before training", "[tuning]") {
  // Seed 1: 2 and 5, cut at 3, beyond 1: (1 + 0 + 2) / 3. Seed 2: a diverged run counts as 3.5: (0.5 + 0 + 3) / 3.
  const Outcomes losses = {{2.0, 1.0}, {1.0, 0.5}, {5.0, std::nullopt}}, before = {{3.0, 3.5}, {3.0, 3.5}, {3.0, 3.5}};
  const auto found = sensitivity(losses, before, kLow);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Approx(1.0).epsilon(1e-12));
  CHECK(found[1] == Approx(3.5 / 3).epsilon(1e-12));
  const Outcomes accuracies = {{0.75, 0.5}, {0.5, 0.25}}, at_first = {{0.625, 0.125}, {0.625, 0.125}};
  const auto high = sensitivity(accuracies, at_first, kHigh);
  CHECK(high[0] == 0.0625);  // 0.75, and 0.625 for what fell below it
  CHECK(high[1] == 0.125);
  CHECK(sensitivity(losses, {{3.0, 3.5}, {3.0, std::nullopt}, {3.0, 3.5}}, kLow).empty());
}
