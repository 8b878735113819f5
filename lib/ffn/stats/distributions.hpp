// The distributions that the tests and intervals rest on. Internal to ffn/stats; Boost.Math stands behind them, and in
// one file, since its headers are slow to compile.
#pragma once

#include <cstddef>
#include <limits>

namespace ffn::stats::detail {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// P(Z ≤ z) for a standard normal Z.
double normal_cdf(double z);
/// z with P(Z ≤ z) = p, for p in (0, 1).
double normal_quantile(double p);

/// t with P(T > t) = upper_tail, T Student's t with `df` degrees of freedom.
double critical_t(double df, double upper_tail);
/// The critical value for the mean of `num_seeds` differences.
inline double critical_t_of_seeds(std::size_t num_seeds, double upper_tail) {
  return critical_t(static_cast<double>(num_seeds - 1), upper_tail);
}
/// P(T > t), T Student's t; t may be infinite.
double t_above(double df, double t);
/// P(T > t), T noncentral t.
double noncentral_t_above(double df, double noncentrality, double t);

/// P(X ≤ x) for X chi-squared.
double chi_squared_cdf(double df, double x);

/// P(X ≤ heads) of that many tosses of a fair coin.
double coins_cdf(std::size_t tosses, std::size_t heads);

}  // namespace ffn::stats::detail
