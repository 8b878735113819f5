// The generator, and BCa and percentile intervals. scripts/check/stats-against-scipy compares with SciPy on random inputs.
#include <cmath>
#include <limits>

#include "ffn/stats/bootstrap.hpp"
#include "ffn/stats/random.hpp"
#include "support/catch_plain.hpp"

using namespace ffn::stats;

namespace {
const std::vector<double> kSkewed{1.1, 1.3, 1.2, 1.9, 1.4, 1.0, 4.2, 1.6};
double largest(const std::vector<double>& values) { return quantile(values, 1.0); }
}  // namespace

TEST_CASE("SplitMix64 gives the published sequence") {
  SplitMix64 random(0);
  CHECK(random.next() == 0xe220a8397b1dcdafu);
  CHECK(random.next() == 0x6e789e6aa1b965f4u);
  CHECK(random.next() == 0x06c45d188009454fu);
}

TEST_CASE("random indices cover their range evenly") {
  SplitMix64 random(7);
  std::vector<int> counts(6, 0);
  for (int i = 0; i < 60'000; ++i) ++counts.at(random.index(6));
  double chi_squared = 0.0;
  for (const int count : counts) chi_squared += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  CHECK(chi_squared < 20.5);  // 99.9 % point with 5 degrees of freedom
}

TEST_CASE("a bootstrap is a function of its seed") {
  const Bootstrap first = bootstrap(kSkewed, mean, 500, 1), again = bootstrap(kSkewed, mean, 500, 1);
  CHECK(first.replicates == again.replicates);
  CHECK(first.replicates != bootstrap(kSkewed, mean, 500, 2).replicates);
  CHECK(first.replicates.size() == 500);
  CHECK(first.estimate == mean(kSkewed));
}

TEST_CASE("the acceleration of the mean is a sixth of the standardised third moment") {
  double squares = 0.0, cubes = 0.0;
  for (const double value : kSkewed) {
    const double u = value - mean(kSkewed);
    squares += u * u;
    cubes += u * u * u;
  }
  CHECK(bootstrap(kSkewed, mean, 10).acceleration == Approx(cubes / (6 * std::pow(squares, 1.5))));
}

TEST_CASE("BCa moves towards the long tail of a skewed sample") {
  const Bootstrap b = bootstrap(kSkewed, mean, 20'000, 3);
  const Interval bca = bca_interval(b, 0.95);
  CHECK(bca.low > sorted_quantile(b.replicates, 0.025));
  CHECK(bca.high > sorted_quantile(b.replicates, 0.975));
  CHECK(bca.level == 0.95);
  // scipy.stats.bootstrap, 1 000 000 resamples, two seeds agree; the margin is four Monte-Carlo standard errors of a limit
  CHECK(bca.low == Approx(1.2875).margin(0.01));
  CHECK(bca.high == Approx(2.8875).margin(0.08));
}

TEST_CASE("without bias and acceleration BCa is the percentile interval") {
  Bootstrap b = bootstrap(kSkewed, mean, 999, 3);
  b.bias = b.acceleration = 0.0;
  CHECK(bca_interval(b, 0.9).low == Approx(sorted_quantile(b.replicates, 0.05)));
  CHECK(bca_interval(b, 0.9).high == Approx(sorted_quantile(b.replicates, 0.95)));
}

TEST_CASE("one value has an unbounded interval") {
  const Bootstrap b = bootstrap({0.3}, mean);
  const Interval interval = bca_interval(b, 0.95);
  CHECK(interval.low == -std::numeric_limits<double>::infinity());
  CHECK(interval.high == std::numeric_limits<double>::infinity());
  CHECK_FALSE(interval.excludes(0));
}

TEST_CASE("equal values have an interval of width zero") {
  const Bootstrap b = bootstrap(std::vector<double>(7, 0.02), mean);
  CHECK(b.acceleration == 0);
  CHECK(b.bias == 0);
  CHECK(bca_interval(b, 0.95).low == b.estimate);
  CHECK(bca_interval(b, 0.95).high == b.estimate);
  CHECK(bca_interval(b, 0.95).excludes(0));
}

TEST_CASE("BCa of a statistic that never exceeds the estimate stays finite") {
  const Bootstrap b = bootstrap(kSkewed, largest, 1000, 1);
  CHECK(std::isfinite(b.bias));
  CHECK(bca_interval(b, 0.95).high == 4.2);
  CHECK(std::isfinite(bca_interval(b, 0.95).low));
}

TEST_CASE("past the pole of the BCa formula the interval ends at the last replicate") {
  Bootstrap b = bootstrap(kSkewed, mean, 1000, 1);
  b.acceleration = 0.9;  // 1 − 0.9 · 1.96 < 0
  CHECK(bca_interval(b, 0.95).high == b.replicates.back());
  b.acceleration = -0.9;
  CHECK(bca_interval(b, 0.95).low == b.replicates.front());
}

TEST_CASE("ties between replicates and the estimate count half, also when rounding blurs them") {
  // The mean of {0.1, 0.2, 0.3} is 0.2 whichever way it is drawn; sums in another order differ in the last bit.
  const Bootstrap b = bootstrap({0.1, 0.2, 0.3}, mean, 50'000, 5);
  CHECK(std::abs(b.bias) < 0.02);  // exactly 0 by symmetry; standard error 1.25 / √50000 = 0.006
}

TEST_CASE("a bootstrap refuses an empty or non-finite sample and no resamples") {
  CHECK_THROWS_WITH(bootstrap({}, mean), "bootstrap needs at least 1 value(s), got 0");
  CHECK_THROWS_WITH(bootstrap({1, std::nan("")}, mean), "bootstrap needs finite values, value 1 is nan");
  CHECK_THROWS_WITH(bootstrap({1, 2}, mean, 0), "bootstrap: resamples (0) must be positive");
  CHECK_THROWS_WITH(bca_interval(bootstrap({1, 2}, mean, 10), 0), "level (0) must lie in (0, 1)");
}
