// Descriptive statistics of one sample.
#include "ffn/stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"

namespace ffn::stats {
namespace {

void sort_values(const char* what, std::vector<double>& values) {
  if (values.empty()) detail::fail(what, " needs at least 1 value(s), got 0");
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isnan(values[i])) detail::fail(what, " needs numbers, value ", i, " is nan");
  std::sort(values.begin(), values.end());
}

}  // namespace

Interval unbounded_interval(double level) {
  const double infinity = std::numeric_limits<double>::infinity();
  return {-infinity, infinity, level};
}

Interval empty_interval(double estimate, double level) { return {estimate, estimate, level, true, true}; }

double mean(const std::vector<double>& values) {
  detail::check_sample("mean", values);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  detail::check_sample("standard deviation", values, 2);
  const double centre = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double skewness(const std::vector<double>& values) {
  if (values.size() < 3) return 0.0;
  const double centre = mean(values);
  double second = 0.0, third = 0.0;
  for (const double value : values) {
    const double from_centre = value - centre;
    second += from_centre * from_centre;
    third += from_centre * from_centre * from_centre;
  }
  const auto n = static_cast<double>(values.size());
  return second > 0.0 ? third / n / std::pow(second / n, 1.5) : 0.0;
}

double sorted_quantile(const std::vector<double>& ascending, double p) {
  if (ascending.empty()) detail::fail("quantile needs at least 1 value(s), got 0");
  if (!(p >= 0.0 && p <= 1.0)) detail::fail("quantile: p (", p, ") must lie in [0, 1]");
  const double position = p * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const double fraction = position - static_cast<double>(below);
  const double low = ascending[below];
  if (fraction == 0.0) return low;
  const double high = ascending[below + 1];
  if (low == high || std::isinf(high)) return std::isinf(low) && low < high ? 0.0 : high;  // between −∞ and ∞ nothing is nearer than 0
  return std::isinf(low) ? low : low + fraction * (high - low);
}

double quantile(std::vector<double> values, double p) {
  sort_values("quantile", values);
  return sorted_quantile(values, p);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double interquartile_mean(std::vector<double> values) {
  sort_values("interquartile mean", values);
  const auto trim = static_cast<std::ptrdiff_t>(values.size() / 4);
  const double sum = std::accumulate(values.begin() + trim, values.end() - trim, 0.0);
  return sum / static_cast<double>(static_cast<std::ptrdiff_t>(values.size()) - 2 * trim);
}

Interval t_interval(const std::vector<double>& values, double level) {
  detail::check_sample("t interval", values);
  detail::check_between("level", level, 0.0, 1.0);
  if (values.size() == 1) return unbounded_interval(level);
  const auto n = static_cast<double>(values.size());
  const double t = detail::critical_t(n - 1.0, (1.0 - level) / 2.0);
  const double centre = mean(values);
  const double half_width = t * standard_deviation(values) / std::sqrt(n);
  return {centre - half_width, centre + half_width, level};
}

Interval t_interval(double mean, double standard_error, std::size_t n, double level) {
  if (n < 2) detail::fail("a t interval needs two values");
  detail::check_between("level", level, 0.0, 1.0);
  const double half_width = detail::critical_t_of_seeds(n, (1.0 - level) / 2.0) * standard_error;
  return {mean - half_width, mean + half_width, level};
}

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

CrossedMean crossed_mean(const std::vector<std::vector<double>>& effects, double level) {
  detail::check_between("level", level, 0, 1);
  if (effects.size() < 2) detail::fail("a crossed mean needs at least 2 rows, got ", effects.size());
  const std::size_t rows = effects.size(), columns = effects[0].size();
  std::vector<double> of_row, of_column(columns);
  for (const auto& row : effects) {
    detail::check_sample("a row of a crossed mean", row, 2);
    if (row.size() != columns) detail::fail("rows of a crossed mean must be equally long, got ", columns, " and ", row.size());
    of_row.push_back(mean(row));
    for (std::size_t c = 0; c < columns; ++c) of_column[c] += row[c] / static_cast<double>(rows);
  }
  const double value = mean(of_row), r = static_cast<double>(rows), c = static_cast<double>(columns);
  // Mean squares, with divisors rows − 1, columns − 1 and their product.
  const double by_rows = c * std::pow(standard_deviation(of_row), 2), by_columns = r * std::pow(standard_deviation(of_column), 2);
  double rest = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) rest += std::pow(effects[i][j] - of_row[i] - of_column[j] + value, 2);
  }
  rest /= (r - 1) * (c - 1);
  const double total = std::max({by_rows, by_columns, by_rows + by_columns - rest});
  if (!(total > 0)) return {rows, columns, value, {value, value, level}};
  const double spread = by_rows * by_rows / (r - 1) + by_columns * by_columns / (c - 1) + rest * rest / ((r - 1) * (c - 1));
  const double freedom = std::max(std::min(r, c) - 1, total * total / spread);
  const double half = detail::critical_t(freedom, (1 - level) / 2) * std::sqrt(total / (r * c));
  return {rows, columns, value, {value - half, value + half, level}};
}

}  // namespace ffn::stats
