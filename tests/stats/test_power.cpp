// Power and sample size of the paired t test.
#include <cmath>
#include <limits>

#include "ffn/stats/power.hpp"
#include "support/catch_plain.hpp"
#include "values.hpp"

using namespace ffn::stats;

namespace {

std::size_t seeds_for(double effect, double alpha, double power = 0.8) {
  std::size_t n = 2;
  while (paired_power(effect, n, alpha) < power) ++n;
  return n;
}
}  // namespace

TEST_CASE("seeds for Cohen's small, medium and large effects agree with published tables") {
  CHECK(seeds_for(0.2, 0.05) == 199);  // G*Power 3.1, matched pairs, two-sided 5 %, power 80 %
  CHECK(seeds_for(0.5, 0.05) == 34);
  CHECK(seeds_for(0.8, 0.05) == 15);
  CHECK(seeds_for(-0.5, 0.05) == 34);
  CHECK(seeds_for(0.5, 0.05, 0.95) == 54);
}

TEST_CASE("power agrees with scipy.stats.nct and is alpha without an effect") {
  CHECK(paired_power(1.0, 20, 0.05) == Approx(0.98859129).epsilon(1e-7));
  CHECK(paired_power(0.0, 12, 0.05) == Approx(0.05).epsilon(1e-9));
  CHECK(paired_power(0.7, 2, 0.05) == paired_power(-0.7, 2, 0.05));
  CHECK(paired_power(kInfinity, 2, 0.05) == 1);
}

TEST_CASE("a normal approximation would promise too much") {
  // n = ((1.96 + 0.84) / 1)² = 7.85 → 8; the t test needs 10.
  CHECK(seeds_for(1.0, 0.05) == 10);
}

TEST_CASE("the smallest detectable difference has exactly the power asked for and scales with sd") {
  for (const std::size_t n : {2u, 3u, 6u, 20u, 500u}) {
    const double effect = smallest_detectable_difference(n, 1.0);
    CHECK(paired_power(effect, n, 0.05) == Approx(0.8).epsilon(1e-9));
    CHECK(smallest_detectable_difference(n, 0.01) == Approx(0.01 * effect));
  }
  CHECK(smallest_detectable_difference(8, 0.0) == 0);
}

TEST_CASE("power is continuous where the noncentrality becomes too large for the series") {
  const double alpha = 1e-4, root = std::sqrt(2.0);  // at n = 2, t = 6366
  const double below = paired_power(999.999 / root, 2, alpha), above = paired_power(1000.001 / root, 2, alpha);
  CHECK(above == Approx(below).epsilon(1e-5));
  CHECK(paired_power(1e9, 2, alpha) == Approx(1.0));
  CHECK(paired_power(1e300, 2, alpha) == Approx(1.0));
}

TEST_CASE("power refuses impossible questions with their values") {
  CHECK_THROWS_WITH(paired_power(1, 1, 0.05), "power needs at least 2 seeds, got 1");
  CHECK_THROWS_WITH(paired_power(1, 5, 1.5), "alpha (1.5) must lie in (0, 1)");
  CHECK_THROWS_WITH(paired_power(std::nan(""), 5, 0.05), "standardised effect is nan");
  CHECK_THROWS_WITH(smallest_detectable_difference(5, -1), "sd (-1) must be finite and not negative");
}
