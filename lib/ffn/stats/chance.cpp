// Planning from a pilot.
#include "ffn/stats/chance.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"

namespace ffn::stats {
namespace {

using detail::normal_cdf;

/// Of the true standardised effect.
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
  const auto below = [&](double limit) { return normal_cdf((limit - centre) / spread); };
  const double if_different =
      below(-different) + (1.0 - below(different)) + (negligible > 0.0 ? below(negligible) - below(-negligible) : 0.0);
  const double if_not = alpha + (negligible > 0.0 ? 2.0 * normal_cdf(negligible) - 1.0 : 0.0);
  const double weight = probability_of_difference(pilot);
  return {if_different, weight * if_different + (1.0 - weight) * std::min(1.0, if_not)};
}

}  // namespace ffn::stats
