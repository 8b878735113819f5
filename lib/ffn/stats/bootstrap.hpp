// Bootstrap intervals. The sample is resampled once; intervals of any level and kind are then read from the result. E&T 1993 below: Efron &
// Tibshirani, "An Introduction to the Bootstrap".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ffn/stats/summary.hpp"

namespace ffn::stats {

/// 10 000 resamples put the Monte-Carlo error of a 95 % limit near 2 % of the interval's half-width.
constexpr std::size_t kDefaultResamples = 10'000;

/// A statistic of one sample, in any units. It is called with resamples of the original size and, for the
/// jackknife, with one value left out.
using Statistic = std::function<double(const std::vector<double>&)>;

/// Resampling results for a statistic.
struct Bootstrap {
  std::size_t num_values;          ///< size of the original sample
  double estimate;                 ///< the statistic of the original sample
  std::vector<double> replicates;  ///< the statistic of every resample, ascending
  double bias;                     ///< z₀, Φ⁻¹ of the share of replicates below the estimate, ties half: E&T 1993, eq. 14.14
  double acceleration;             ///< a, from the jackknife: E&T 1993, eq. 14.15; 0 where that has no spread
};

/// Resamples with replacement (Efron 1979), deterministically for a given seed on every platform.
/// Throws if the sample is empty or not finite, or if resamples is 0.
Bootstrap bootstrap(const std::vector<double>& sample, const Statistic& statistic, std::size_t resamples = kDefaultResamples,
                    std::uint64_t seed = 0);

/// Bias-corrected and accelerated interval (Efron 1987, "Better Bootstrap Confidence Intervals"; E&T 1993,
/// eq. 14.9–14.10), the method of scipy.stats.bootstrap.
/// A sample of one gives (−∞, ∞); a sample without spread gives low == high.
/// Like every bootstrap interval it is too narrow for few values: for the mean of normal data the 95 % interval
/// covers about 86 % at n = 6, 90 % at 10 and 93 % at 20 (the calibration test prints these). No verdict rests on
/// it alone. Throws if the level is outside (0, 1).
Interval bca_interval(const Bootstrap& b, double level);

}  // namespace ffn::stats
