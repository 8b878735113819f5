// Depends on Boost.Math.
#include "ffn/stats/distributions.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/non_central_t.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

namespace ffn::stats::detail {

namespace math = boost::math;

double normal_cdf(double z) { return math::cdf(math::normal(), z); }
double normal_quantile(double p) { return math::quantile(math::normal(), p); }

double critical_t(double df, double upper_tail) { return math::quantile(math::complement(math::students_t(df), upper_tail)); }
double t_above(double df, double t) { return math::cdf(math::complement(math::students_t(df), t)); }
double noncentral_t_above(double df, double noncentrality, double t) {
  return math::cdf(math::complement(math::non_central_t(df, noncentrality), t));
}

double chi_squared_cdf(double df, double x) { return math::cdf(math::chi_squared(df), x); }

double coins_cdf(std::size_t tosses, std::size_t heads) {
  return math::cdf(math::binomial(static_cast<double>(tosses), 0.5), static_cast<double>(heads));
}

}  // namespace ffn::stats::detail
