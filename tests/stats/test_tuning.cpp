#include "ffn/stats/tuning.hpp"

#include <cmath>
#include <limits>
#include "support/catch_plain.hpp"

using ffn::stats::choose_point;
using ffn::stats::Direction;
using ffn::stats::Outcome;

using Outcomes = std::vector<std::vector<Outcome>>;
constexpr auto kLow = Direction::lower_is_better, kHigh = Direction::higher_is_better;

TEST_CASE("the best mean is chosen", "[tuning]") {
  const Outcomes losses = {{0.5, 0.6}, {0.1, 0.2}, {0.3, 0.4}};
  CHECK(choose_point(losses, kLow, false).index == 1);
  CHECK(choose_point(losses, kHigh, false).index == 0);
  CHECK(choose_point(losses, kLow, false).scores[2].mean == (0.3 + 0.4) / 2);
}

TEST_CASE("a standard error is of what is judged, of the runs that have a value; one alone has none", "[tuning]") {
  const Outcomes losses = {{1.0, 2.0, std::nullopt, 3.0}, {0.5, std::nullopt, std::nullopt, std::nullopt}};
  const auto choice = choose_point(losses, kLow, true);
  CHECK(choice.logarithms);
  CHECK(*choice.scores[0].judged == Approx(std::log(6.0) / 3));
  CHECK(*choice.scores[0].standard_error == Approx(0.32075).margin(5e-6));  // s = 0.55555 of 0, 0.69315 and 1.09861, over √3
  CHECK(*choice.scores[0].mean == 2);
  CHECK_FALSE(choice.scores[1].standard_error);
  const auto values = choose_point(losses, kHigh, true);
  CHECK_FALSE(values.logarithms);
  CHECK(values.scores[0].judged == 2);
  CHECK(*values.scores[0].standard_error == Approx(1 / std::sqrt(3.0)));  // s = 1
}

TEST_CASE("positive losses are averaged as logarithms, others as they are", "[tuning]") {
  // Means 0.34 and 0.3; the logarithms' favour the first by far.
  const Outcomes positive = {{0.001, 0.001, 1.0}, {0.3, 0.3, 0.3}};
  CHECK(choose_point(positive, kLow, false).index == 0);
  const Outcomes with_zero = {{0.001, 0.001, 1.0, 0.3}, {0.3, 0.3, 0.3, 0.0}};
  CHECK(choose_point(with_zero, kLow, false).index == 1);
  CHECK(choose_point({{0.001, 0.001, 1.0}, {0.35, 0.35, 0.35}}, kHigh, false).index == 1);
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
  CHECK(choose_point({worse, as_good, best, worse}, kLow, true).index == 1);  // of two the lower
  CHECK(choose_point({as_good, worse, best, worse}, kLow, true).index == 2);  // no neighbour
  CHECK(choose_point({worse, as_good, as_good, best}, kLow, false).index == 3);
  // One seed has no standard error.
  CHECK(choose_point({{1.001}, {1.0}, {1.001}}, kLow, true).index == 1);
}

TEST_CASE("a choice from nothing is refused", "[tuning]") {
  CHECK_THROWS_AS(choose_point({}, kLow, true), std::invalid_argument);
  CHECK_THROWS_AS(choose_point({{}}, kLow, true), std::invalid_argument);
  CHECK_THROWS_AS(choose_point({{0.1}, {0.1, 0.2}}, kLow, true), std::invalid_argument);
}
