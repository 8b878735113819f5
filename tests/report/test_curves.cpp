// A group's learning curve at a step, and which steps and seeds are drawn.
#include "ffn/report/curves.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::report;

TEST_CASE("a point of a curve is the mean with Student's t interval") {
  const auto point = curve_point(10, {1, 2, 3}, 0, false, ShownCentre::mean, 0.05);
  CHECK(point.centre == 2);
  CHECK(point.low == Approx(2 - 4.30265 / std::sqrt(3.0)).epsilon(1e-5));  // t of 2 degrees of freedom, sd 1
  CHECK(point.high == Approx(2 + 4.30265 / std::sqrt(3.0)).epsilon(1e-5));
  CHECK(point.runs == 3);
}

TEST_CASE("an interval ends where the range of the metric does, and that of runs that are gone does not") {
  const auto share = curve_point(10, {0.9, 1, 1}, 0, true, ShownCentre::mean, 0.05, range_of("val/accuracy"));
  CHECK(share.high == 1);
  CHECK(share.low == Approx(0.9667 - 4.30265 * 0.1 / 3).epsilon(1e-3));
  CHECK(curve_point(10, {0, 0, 0.1}, 0, true, ShownCentre::mean, 0.05, range_of("val/accuracy")).low == 0);
  CHECK(curve_point(10, {0.01, 0.01, 2}, 0, false, ShownCentre::mean, 0.05, range_of("val/loss")).low == 0);
  CHECK(curve_point(10, {1, 1, 2}, 0, false, ShownCentre::mean, 0.05, range_of("val/perplexity")).low == 1);
  CHECK(curve_point(10, {0.7, 0.8}, 3, true, ShownCentre::mean, 0.05, range_of("val/accuracy")).low == -INFINITY);
  CHECK(range_of("ffn/dead_units.1").high == 1);
  CHECK_FALSE(range_of("val/loss").is_finite());
}

TEST_CASE("a point is the geometric mean where losses are compared as ratios") {
  CHECK(curve_point(10, {1, 100}, 0, false, ShownCentre::geometric_mean, 0.05).centre == Approx(10));
}

TEST_CASE("one seed alone has no interval") {
  for (const auto centre : {ShownCentre::mean, ShownCentre::geometric_mean, ShownCentre::median}) {
    const auto point = curve_point(10, {0.5}, 0, false, centre, 0.05);
    CHECK(point.low == Approx(0.5));
    CHECK(point.high == Approx(0.5));
  }
}

TEST_CASE("where runs are gone the median and the quartiles count them as worst") {
  const auto loss = curve_point(10, {1, 2, 3}, 2, false, ShownCentre::mean, 0.05);
  CHECK(loss.centre == 3);
  CHECK(loss.low == 2);
  CHECK(loss.high == INFINITY);
  CHECK(loss.gone == 2);
  const auto accuracy = curve_point(10, {0.7, 0.8, 0.9}, 2, true, ShownCentre::mean, 0.05);
  CHECK(accuracy.centre == 0.7);
  CHECK(accuracy.low == -INFINITY);
}

TEST_CASE("of many steps the first and the last are drawn, and enough for both kinds of axis") {
  std::vector<std::int64_t> steps;
  for (std::int64_t s = 0; s <= 100000; s += 10) steps.push_back(s);
  const auto few = thinned(steps, 80);
  CHECK(few.size() <= 80);
  CHECK(few.size() > 60);
  CHECK(few.front() == 0);
  CHECK(few.back() == 100000);
  CHECK(few[1] <= 20);
  CHECK(std::is_sorted(few.begin(), few.end()));
  CHECK(thinned({0, 5, 10}, 80) == std::vector<std::int64_t>{0, 5, 10});
}

TEST_CASE("of many runs those that are drawn are even in rank") {
  CHECK(evenly(5, 9) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(evenly(101, 5) == std::vector<std::size_t>{0, 25, 50, 75, 100});
  CHECK(evenly(9, 1) == std::vector<std::size_t>{4});
  CHECK(evenly(0, 3).empty());
}

TEST_CASE("losses and their gradients have a floor, and what is 0 for other reasons has none") {
  for (const char* name : {"val/loss", "train/loss", "val/bits_per_char", "val/bits_per_byte", "train/grad_norm"})
    CHECK(floor_of(name) == 1e-8);
  for (const char* name : {"val/accuracy", "val/perplexity", "ffn/dead_units", "moe/max_violation", "train/balance_loss"})
    CHECK_FALSE(floor_of(name));
  CurveSet set{"val/loss", false, ShownCentre::geometric_mean, std::nullopt, {}, {}, {}};
  CHECK(floor_text(set).empty());
  set.floor = 1e-8;
  CHECK(floor_text(set) == "values below 10⁻⁸ count as 10⁻⁸");
}
