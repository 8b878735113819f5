// Planning with the noncentral t distribution.
#include "ffn/stats/power.hpp"

#include <cmath>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"

namespace ffn::stats {
namespace {

/// P(T > t) for t > 0 and T noncentral t.
double probability_above(double t, std::size_t num_seeds, double noncentrality) {
  // T = (Z + noncentrality) / √(χ²/df). Boost's series fail for a huge noncentrality, where Z no longer matters:
  // leaving it out changes the probability by less than 1e-6 beyond this bound.
  constexpr double kHuge = 1e3;
  const auto df = static_cast<double>(num_seeds - 1);
  if (noncentrality < -kHuge) return 0.0;
  if (noncentrality > kHuge) {
    const double chi_squared = df * (noncentrality / t) * (noncentrality / t);
    return std::isfinite(chi_squared) ? detail::chi_squared_cdf(df, chi_squared) : 1.0;
  }
  return detail::noncentral_t_above(df, noncentrality, t);
}

/// The smallest n in [2, kMaxPlannedSeeds] with power_at(n) ≥ power, for a power that grows with n.
template <class PowerAt>
std::optional<std::size_t> smallest_num_seeds(PowerAt power_at, double power) {
  if (power_at(kMaxPlannedSeeds) < power) return std::nullopt;
  std::size_t too_few = 1, enough = kMaxPlannedSeeds;
  while (enough - too_few > 1) {
    const std::size_t middle = (too_few + enough) / 2;
    (power_at(middle) < power ? too_few : enough) = middle;
  }
  return enough;
}

void check_test(std::size_t num_seeds, double alpha) {
  if (num_seeds < 2) detail::fail("power needs at least 2 seeds, got ", num_seeds);
  detail::check_between("alpha", alpha, 0.0, 1.0);
}

}  // namespace

double paired_power(double standardised_effect, std::size_t num_seeds, double alpha) {
  check_test(num_seeds, alpha);
  if (std::isnan(standardised_effect)) detail::fail("standardised effect is nan");
  if (std::isinf(standardised_effect)) return 1.0;
  const double t = detail::critical_t_of_seeds(num_seeds, alpha / 2.0);
  const double noncentrality = std::abs(standardised_effect) * std::sqrt(static_cast<double>(num_seeds));
  return probability_above(t, num_seeds, noncentrality) + probability_above(t, num_seeds, -noncentrality);
}

double smallest_detectable_difference(std::size_t num_seeds, double sd, double alpha, double power) {
  check_test(num_seeds, alpha);
  if (!(sd >= 0.0 && std::isfinite(sd))) detail::fail("sd (", sd, ") must be finite and not negative");
  detail::check_between("power", power, alpha, 1.0);
  double too_small = 0.0, enough = 1.0;  // in units of sd
  while (paired_power(enough, num_seeds, alpha) < power) too_small = std::exchange(enough, 2.0 * enough);
  while (enough - too_small > 1e-12 * enough) {
    const double middle = too_small + (enough - too_small) / 2.0;
    (paired_power(middle, num_seeds, alpha) < power ? too_small : enough) = middle;
  }
  return enough * sd;
}

std::optional<std::size_t> seeds_for_effect(double standardised_effect, double alpha, double power) {
  check_test(2, alpha);
  detail::check_between("power", power, alpha, 1.0);
  return smallest_num_seeds([&](std::size_t n) { return paired_power(standardised_effect, n, alpha); }, power);
}

}  // namespace ffn::stats
