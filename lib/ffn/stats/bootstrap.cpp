// Bootstrap intervals.
#include "ffn/stats/bootstrap.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/random.hpp"

namespace ffn::stats {
namespace {

// Equal in real arithmetic, different in the last bits because another order of summation was used: both sides
// of a tie have to be seen as a tie, or z₀ of tied data would depend on rounding.
constexpr double kTieTolerance = 1e-12;

using detail::normal_cdf;
using detail::normal_quantile;

/// z₀: how far the median of the replicates lies from the estimate, in normal units.
double bias_correction(const std::vector<double>& ascending, double estimate) {
  const double tolerance = kTieTolerance * (ascending.back() - ascending.front());
  const auto first_tie = std::lower_bound(ascending.begin(), ascending.end(), estimate - tolerance);
  const auto past_ties = std::upper_bound(first_tie, ascending.end(), estimate + tolerance);
  const auto below = static_cast<double>(first_tie - ascending.begin());
  const auto not_above = static_cast<double>(past_ties - ascending.begin());
  const auto count = static_cast<double>(ascending.size());
  // All replicates on one side would make z₀ infinite; half a replicate on the other side is the usual remedy.
  return normal_quantile(std::clamp((below + not_above) / (2.0 * count), 0.5 / count, 1.0 - 0.5 / count));
}

/// a = Σ u³ / (6 (Σ u²)^{3/2}), u_i = (mean of the leave-one-out values) − (value without i).
double acceleration_of(const std::vector<double>& leave_one_out) {
  const double centre = mean(leave_one_out);
  double squares = 0.0, cubes = 0.0;
  for (const double value : leave_one_out) {
    const double u = centre - value;
    squares += u * u;
    cubes += u * u * u;
  }
  const double denominator = 6.0 * std::pow(squares, 1.5);
  return denominator > 0.0 ? cubes / denominator : 0.0;
}

/// Φ(z₀ + (z₀ + z) / (1 − a (z₀ + z))): the percentile that BCa reads instead of Φ(z).
double adjusted_percentile(const Bootstrap& b, double z) {
  const double shifted = b.bias + z;
  const double denominator = 1.0 - b.acceleration * shifted;
  // Past its pole the formula turns around; the limit at the pole is the end of the range.
  if (denominator <= 0.0) return shifted > 0.0 ? 1.0 : 0.0;
  return normal_cdf(b.bias + shifted / denominator);
}

std::vector<double> sorted_replicates(const std::vector<double>& sample, const Statistic& statistic, std::size_t resamples,
                                      std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<double> replicates(resamples);
  std::vector<double> drawn(sample.size());
  for (double& replicate : replicates) {
    for (double& value : drawn) value = sample[random.index(sample.size())];
    replicate = statistic(drawn);
  }
  std::sort(replicates.begin(), replicates.end());
  return replicates;
}

std::vector<double> jackknife(const std::vector<double>& sample, const Statistic& statistic) {
  std::vector<double> leave_one_out;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    std::vector<double> rest = sample;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    leave_one_out.push_back(statistic(rest));
  }
  return leave_one_out;
}

}  // namespace

Bootstrap bootstrap(const std::vector<double>& sample, const Statistic& statistic, std::size_t resamples, std::uint64_t seed) {
  detail::check_sample("bootstrap", sample);
  if (resamples == 0) detail::fail("bootstrap: resamples (0) must be positive");
  Bootstrap result{sample.size(), statistic(sample), sorted_replicates(sample, statistic, resamples, seed), 0.0, 0.0};
  if (sample.size() == 1) return result;  // no spread to correct for, and nothing left to leave one out of
  result.bias = bias_correction(result.replicates, result.estimate);
  result.acceleration = acceleration_of(jackknife(sample, statistic));
  return result;
}

Interval bca_interval(const Bootstrap& b, double level) {
  detail::check_between("level", level, 0.0, 1.0);
  if (b.num_values == 1) return unbounded_interval(level);
  const double z = normal_quantile((1.0 + level) / 2.0);
  return {sorted_quantile(b.replicates, adjusted_percentile(b, -z)), sorted_quantile(b.replicates, adjusted_percentile(b, z)), level};
}

}  // namespace ffn::stats
