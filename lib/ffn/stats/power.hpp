// Planning: what n seeds can show, and how many seeds a difference needs. Noncentral t, no normal approximation.
// Depends on the rest of ffn/stats only.
//
// The power is that of the paired t test. The sign-flip test, whose null distribution approaches the t test's, has
// nearly the same for n ≥ 10 and less below, where its p has few possible values; seeds_for_any_verdict()
// (permutation.hpp) is its floor. For an effect that is known; from a pilot's effect, chance.hpp.
#pragma once

#include <cstddef>
#include <optional>

namespace ffn::stats {

/// The usual planning target (Cohen 1988).
constexpr double kDefaultPower = 0.8;
/// More seeds than this are not a plan. A difference of less than about 0.09 sd needs them.
constexpr std::size_t kMaxPlannedSeeds = 1000;

/// Power of the two-sided paired t test at n seeds for a standardised effect d_z = mean / sd of the paired
/// differences: P(|T| > t_{1−alpha/2, n−1}), T noncentral t with n − 1 degrees of freedom and noncentrality d_z √n
/// (Cohen 1988, §2; Student's paired design). Its sign does not matter; ±∞ gives 1.
/// Throws if n < 2, alpha is outside (0, 1) or the effect is NaN.
double paired_power(double standardised_effect, std::size_t num_seeds, double alpha);

/// The smallest true mean difference that n seeds detect with the given power, in the units of sd, the standard
/// deviation of the paired differences. Throws if n < 2, sd is negative or not finite, alpha is outside (0, 1), or
/// power is outside (alpha, 1).
double smallest_detectable_difference(std::size_t num_seeds, double sd, double alpha = 0.05, double power = kDefaultPower);

/// The smallest number of seeds whose power reaches the target; nullopt if that exceeds kMaxPlannedSeeds.
/// For d_z = 0.5 at 5 % and 80 %: 34. Same errors as paired_power, and power outside (alpha, 1).
std::optional<std::size_t> seeds_for_effect(double standardised_effect, double alpha, double power = kDefaultPower);

}  // namespace ffn::stats
