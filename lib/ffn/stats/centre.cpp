// What a table shows of one variant.
#include "ffn/stats/centre.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"

namespace ffn::stats {

Centre geometric_mean(const std::vector<double>& values, double level) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0.0)) detail::fail("a geometric mean of ", value, ": it needs positive values");
    logs.push_back(std::log(value));
  }
  const Interval interval = t_interval(logs, level);
  if (interval.unbounded()) return {std::exp(mean(logs)), interval};  // of one value, not "from 0"
  return {std::exp(mean(logs)), {std::exp(interval.low), std::exp(interval.high), level}};
}

Centre median_with_interval(std::vector<double> values, double level) {
  const double middle = median(values);
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  std::size_t r = 0;
  while (2 * (r + 1) <= n && detail::coins_cdf(n, r) <= (1.0 - level) / 2.0) ++r;
  if (r == 0) return {middle, unbounded_interval(level)};
  return {middle, {values[r - 1], values[n - r], level}};
}

}  // namespace ffn::stats
