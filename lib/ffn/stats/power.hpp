// Planning: what n seeds can show, and the chance that a new study reaches a verdict. Noncentral t, no normal approximation.
//
// The power is that of the paired t test. The sign-flip test, whose null distribution approaches the t test's, has
// nearly the same for n ≥ 10 and less below, where its p has few possible values; seeds_for_any_verdict()
// (permutation.hpp) is its floor. For an effect that is known; from a pilot's effect, chance_of_verdict().
#pragma once

#include <cstddef>

namespace ffn::stats {

/// The usual planning target (Cohen 1988).
constexpr double kDefaultPower = 0.8;

/// Power of the two-sided paired t test at n seeds for a standardised effect d_z = mean / sd of the paired
/// differences: P(|T| > t_{1−alpha/2, n−1}), T noncentral t with n − 1 degrees of freedom and noncentrality d_z √n
/// (Cohen 1988, §2; Student's paired design). Its sign does not matter; ±∞ gives 1.
/// If seeds split the same rows, n is 1 / (1/n + held_out_per_training) in the noncentrality (paired.hpp).
/// Throws if n < 2, alpha is outside (0, 1) or the effect is NaN.
double paired_power(double standardised_effect, std::size_t num_seeds, double alpha, double held_out_per_training = 0.0);

/// The smallest true mean difference that n seeds detect with the given power, in the units of sd, the standard
/// deviation of the paired differences. Throws if n < 2, sd is negative or not finite, alpha is outside (0, 1), or
/// power is outside (alpha, 1).
double smallest_detectable_difference(std::size_t num_seeds, double sd, double alpha = 0.05, double power = kDefaultPower,
                                      double held_out_per_training = 0.0);

/// Prior of the true standardised effect: 0 with a probability of 1 − kPriorDifference, otherwise N(0, kPriorEffect²). In units of the sd
/// of the paired differences.
constexpr double kPriorDifference = 0.5;
constexpr double kPriorEffect = 0.5;

/// The observations so far.
struct Pilot {
  std::size_t num_seeds;       ///< at least 2
  double standardised_effect;  ///< mean / sd of the paired differences; ±∞ without spread
};

/// The posterior weight of a difference: with T = √n₀ δ̂, which is t of ν = n₀ − 1 degrees of freedom without a difference and √k of
/// them, k = 1 + n₀ τ², over the effects of the prior, the Bayes factor k^{−1/2} ((1 + T²/(ν k)) / (1 + T²/ν))^{−(ν+1)/2}
/// (Gönen, Johnson, Lu & Westfall 2005). Throws as chance_of_verdict does.
double probability_of_difference(const Pilot& pilot);

/// How likely a fresh study comes to a verdict.
struct FreshChance {
  double if_different;  ///< if there is a difference
  double overall;       ///< weighted by probability_of_difference; without a difference a verdict is wrong and comes with alpha
};

/// Chance that a fresh study of n seeds says "better" or "worse" at a two-sided level alpha (of one comparison; in a family of m,
/// alpha / m). If there is a difference: the power of the t test, averaged over what the pilot leaves open about the effect (assurance,
/// O'Hagan, Stevens & Campbell 2005). With the pilot's effect corrected for its bias, g = δ̂ (1 − 3 / (4 n₀ − 5)) (Hedges 1981), the
/// posterior is N(μ, v), v = 1 / (n₀ + 1/τ²), μ = n₀ v g, and the chance Φ((√n μ − c) / √(1 + n v)) + Φ((−√n μ − c) / √(1 + n v)), c = t_{1
/// − alpha/2, n − 1}. With a margin, in units of the same sd, "no meaningful difference" counts as well. It is as good as its prior: over
/// effects drawn from the prior it is calibrated; for smaller effects it is too high (N(0, 0.3²): said .76 if different,
/// happened .61). A plan by the pilot's effect alone, at 80 %, kept 24 % there. Throws if the pilot or n has fewer than 2 seeds, if the
/// effect is NaN, if alpha is outside (0, 1) or the margin is negative.
FreshChance chance_of_verdict(const Pilot& pilot, std::size_t num_seeds, double alpha, double margin = 0.0);

/// More seeds that split the same rows hardly narrow an interval: with a fifth of the rows held out 30 leave 6 % to gain, 20 leave 10 %.
constexpr std::size_t kEnoughSplits = 30;

/// Chance that n fresh splits of the pilot's rows come to a verdict by the corrected test. They share what these rows show: their mean is
/// N(δ̂, 1/n₀ + 1/n) in units of sd, and has to be beyond t_{1−alpha/2, n−1} √(1/n + n₂/n₁), or well within the margin. No prior.
double chance_of_splits(const Pilot& pilot, std::size_t num_seeds, double alpha, double held_out_per_training, double margin = 0.0);

}  // namespace ffn::stats
