// Planning: power of a known effect, and chances from a pilot.
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

void check_test(std::size_t num_seeds, double alpha) {
  if (num_seeds < 2) detail::fail("power needs at least 2 seeds, got ", num_seeds);
  detail::check_between("alpha", alpha, 0.0, 1.0);
}

}  // namespace

double paired_power(double standardised_effect, std::size_t num_seeds, double alpha, double held_out_per_training) {
  check_test(num_seeds, alpha);
  if (std::isnan(standardised_effect)) detail::fail("standardised effect is nan");
  if (std::isinf(standardised_effect)) return 1.0;
  const double t = detail::critical_t_of_seeds(num_seeds, alpha / 2.0);
  const double noncentrality = std::abs(standardised_effect) / std::sqrt(1.0 / static_cast<double>(num_seeds) + held_out_per_training);
  return probability_above(t, num_seeds, noncentrality) + probability_above(t, num_seeds, -noncentrality);
}

double smallest_detectable_difference(std::size_t num_seeds, double sd, double alpha, double power, double held_out_per_training) {
  check_test(num_seeds, alpha);
  if (!(sd >= 0.0 && std::isfinite(sd))) detail::fail("sd (", sd, ") must be finite and not negative");
  detail::check_between("power", power, alpha, 1.0);
  double too_small = 0.0, enough = 1.0;  // in units of sd
  while (paired_power(enough, num_seeds, alpha, held_out_per_training) < power) too_small = std::exchange(enough, 2.0 * enough);
  while (enough - too_small > 1e-12 * enough) {
    const double middle = too_small + (enough - too_small) / 2.0;
    (paired_power(middle, num_seeds, alpha, held_out_per_training) < power ? too_small : enough) = middle;
  }
  return enough * sd;
}

namespace {

/// Posterior of the true standardised effect.
struct Posterior {
  double mean, variance;
};

double unbiased_effect(const Pilot& pilot) {
  const double correction = 1.0 - 3.0 / (4.0 * static_cast<double>(pilot.num_seeds) - 5.0);
  return correction > 0.0 ? correction * pilot.standardised_effect : 0.0;  // two seeds say nothing, not even with an infinite effect
}

void check(const Pilot& pilot) {
  if (pilot.num_seeds < 2) detail::fail("a pilot needs at least 2 seeds, got ", pilot.num_seeds);
  if (std::isnan(pilot.standardised_effect)) detail::fail("standardised effect is nan");
}

/// If there is a difference.
Posterior posterior(const Pilot& pilot) {
  check(pilot);
  const auto n = static_cast<double>(pilot.num_seeds);
  const double variance = 1.0 / (n + 1.0 / (kPriorEffect * kPriorEffect));
  return {n * variance * unbiased_effect(pilot), variance};
}

}  // namespace

double probability_of_difference(const Pilot& pilot) {
  check(pilot);
  const auto n = static_cast<double>(pilot.num_seeds);
  const double df = n - 1.0, k = 1.0 + n * kPriorEffect * kPriorEffect;
  const double ratio = n * pilot.standardised_effect * pilot.standardised_effect / df;  // T²/ν
  const double flatter = std::isinf(ratio) ? 1.0 / k : (1.0 + ratio / k) / (1.0 + ratio);
  const double factor = std::pow(flatter, -n / 2.0) / std::sqrt(k);
  const double odds = factor * kPriorDifference / (1.0 - kPriorDifference);
  return std::isinf(odds) ? 1.0 : odds / (1.0 + odds);
}

FreshChance chance_of_verdict(const Pilot& pilot, std::size_t num_seeds, double alpha, double margin) {
  const Posterior effect = posterior(pilot);
  if (num_seeds < 2) detail::fail("a study needs at least 2 seeds, got ", num_seeds);
  detail::check_between("alpha", alpha, 0.0, 1.0);
  if (!(margin >= 0.0)) detail::fail("margin (", margin, ") must not be negative");
  const auto n = static_cast<double>(num_seeds);
  const double different = detail::critical_t_of_seeds(num_seeds, alpha / 2.0);
  const double negligible = std::sqrt(n) * margin - detail::critical_t_of_seeds(num_seeds, alpha);
  if (negligible >= different) return {1.0, 1.0};
  // √n times the new study's effect is N(centre, spread²).
  const double centre = std::sqrt(n) * effect.mean, spread = std::sqrt(1.0 + n * effect.variance);
  const auto below = [&](double limit) { return detail::normal_cdf((limit - centre) / spread); };
  const double if_different =
      below(-different) + (1.0 - below(different)) + (negligible > 0.0 ? below(negligible) - below(-negligible) : 0.0);
  const double if_not = alpha + (negligible > 0.0 ? 2.0 * detail::normal_cdf(negligible) - 1.0 : 0.0);
  const double weight = probability_of_difference(pilot);
  return {if_different, weight * if_different + (1.0 - weight) * std::min(1.0, if_not)};
}

double chance_of_splits(const Pilot& pilot, std::size_t num_seeds, double alpha, double held_out_per_training, double margin) {
  check(pilot);
  check_test(num_seeds, alpha);
  const auto n = static_cast<double>(num_seeds);
  const double error = std::sqrt(1.0 / n + held_out_per_training);
  const double different = error * detail::critical_t_of_seeds(num_seeds, alpha / 2.0);
  const double negligible = margin - error * detail::critical_t_of_seeds(num_seeds, alpha);
  if (negligible >= different) return 1.0;
  const double spread = std::sqrt(1.0 / static_cast<double>(pilot.num_seeds) + 1.0 / n);
  const auto below = [&](double limit) { return detail::normal_cdf((limit - pilot.standardised_effect) / spread); };
  return below(-different) + (1.0 - below(different)) + (negligible > 0.0 ? below(negligible) - below(-negligible) : 0.0);
}

}  // namespace ffn::stats
