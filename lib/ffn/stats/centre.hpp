// What a table shows of one variant where an arithmetic mean would mislead. Depends on the rest of ffn/stats only.
#pragma once

#include <vector>

#include "ffn/stats/summary.hpp"

namespace ffn::stats {

struct Centre {
  double value;
  Interval interval;
};

/// e^(mean of ln x), with Student's t interval of the logarithms: the ratio of two of them is that of the mean log ratio.
/// Throws if empty or if a value is not positive and finite.
Centre geometric_mean(const std::vector<double>& values, double level);

/// The median with its exact interval between order statistics [x_(r), x_(n+1−r)], r the largest with P(X < r) ≤ (1 − level)/2,
/// X binomial(n, 1/2); unbounded below 6 values at 95 %. ±∞ is allowed, for runs without a value. Throws if empty or if a value is NaN.
Centre median_with_interval(std::vector<double> values, double level);

}  // namespace ffn::stats
