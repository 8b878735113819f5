// Mean, spread, quantiles, interquartile mean, t interval.
#include <cmath>
#include <limits>

#include "ffn/stats/summary.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {
const double kNan = std::nan("");
}  // namespace

TEST_CASE("the interquartile mean agrees with rliable's trimmed mean") {
  CHECK(interquartile_mean({.91, .88, .93, .90, .87}) == Approx(.896667).margin(5e-7));  // one value off each end
  CHECK(interquartile_mean({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) == Approx(5.5));
  CHECK(interquartile_mean({1, 2, 10}) == Approx(4.3333).margin(5e-5));  // nothing trimmed
  CHECK(interquartile_mean({7}) == 7);
}

TEST_CASE("the interquartile mean ignores diverged runs up to a quarter and is infinite beyond") {
  CHECK(interquartile_mean({1, 2, 3, kInfinity}) == Approx(2.5));
  CHECK(interquartile_mean({1, 2, kInfinity, kInfinity}) == kInfinity);
  CHECK(interquartile_mean({-kInfinity, -kInfinity, 3, 4}) == -kInfinity);
  CHECK_THROWS_WITH(interquartile_mean({1, kNan}), "interquartile mean needs numbers, value 1 is nan");
  CHECK_THROWS_AS(interquartile_mean({}), std::invalid_argument);
}

TEST_CASE("mean and standard deviation agree with a case by hand") {
  const std::vector<double> values{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(mean(values) == 5);
  CHECK(standard_deviation(values) == Approx(std::sqrt(32.0 / 7.0)));
  CHECK(standard_deviation({1e9 + 1, 1e9 + 2, 1e9 + 3}) == Approx(1));  // two passes lose nothing to a large mean
  CHECK_THROWS_WITH(standard_deviation({1}), "standard deviation needs at least 2 value(s), got 1");
  CHECK_THROWS_WITH(mean({1, kInfinity}), "mean needs finite values, value 1 is inf");
}

TEST_CASE("quantiles interpolate linearly between order statistics") {
  const std::vector<double> values{4, 1, 3, 2};
  CHECK(quantile(values, 0) == 1);
  CHECK(quantile(values, 1) == 4);
  CHECK(quantile(values, 0.25) == 1.75);  // numpy.quantile gives the same
  CHECK(median(values) == 2.5);
  CHECK(median({3, 1, 2}) == 2);
  CHECK(median({1, kInfinity, kInfinity, kInfinity}) == kInfinity);
  CHECK(median({1, 2, kInfinity}) == 2);
  CHECK_THROWS_WITH(quantile(values, 1.5), "quantile: p (1.5) must lie in [0, 1]");
  CHECK_THROWS_AS(quantile({}, 0.5), std::invalid_argument);
}

TEST_CASE("the t interval agrees with the textbook and knows nothing from one value") {
  // n = 9, mean 10, s = 3, t_{0.975, 8} = 2.306004: half-width 2.306004.
  const std::vector<double> values{7, 7, 7, 7, 10, 13, 13, 13, 13};
  const Interval interval = t_interval(values, 0.95);
  CHECK(standard_deviation(values) == Approx(3));
  CHECK(interval.low == Approx(10 - 2.306004).margin(1e-6));
  CHECK(interval.high == Approx(10 + 2.306004).margin(1e-6));
  CHECK(t_interval({5}, 0.95).low == -kInfinity);
  CHECK(t_interval({5}, 0.95).high == kInfinity);
  CHECK(t_interval({5, 5}, 0.95).high == 5);
  CHECK_THROWS_WITH(t_interval({1, 2}, 1), "level (1) must lie in (0, 1)");
  const Interval kept = t_interval(10, 1, 9, 0.95);  // the standard error is 3 / √9
  CHECK(kept.low == Approx(interval.low));
  CHECK(kept.high == Approx(interval.high));
  CHECK_THROWS_AS(t_interval(10, 1, 1, 0.95), std::invalid_argument);
}

TEST_CASE("quantiles between infinite values are numbers", "[stats]") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(quantile({-inf, 3}, 0.5) == -inf);
  CHECK(quantile({3, inf}, 0.5) == inf);
  CHECK(quantile({-inf, inf}, 0.5) == 0);
  CHECK(quantile({-inf, -inf, 1, 2}, 1.0 / 3) == -inf);
  CHECK(quantile({1, 2, inf}, 0.25) == 1.5);
}

TEST_CASE("skewness is that of the whole sample, and 0 where there is none") {
  CHECK(skewness({1, 2, 3}) == 0);
  CHECK(skewness({0, 0, 0, 1}) == Approx(2 / std::sqrt(3.0)));  // p = 1/4: (1 − 2p) / √(p (1 − p))
  CHECK(skewness({0, 0, 0, -1}) == Approx(-2 / std::sqrt(3.0)));
  CHECK(skewness({5, 5, 5, 5}) == 0);
  CHECK(skewness({1, 9}) == 0);
}
