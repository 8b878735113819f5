// Two crossed samples.
#include "ffn/stats/crossed.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"

namespace ffn::stats {

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
