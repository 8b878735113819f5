// The mean of effects that two samples cross: each text with each seed. Depends on the rest of ffn/stats only.
#pragma once

#include <cstddef>
#include <vector>

#include "ffn/stats/summary.hpp"

namespace ffn::stats {

/// A mean over rows and columns with an interval that covers other rows and other columns, too.
struct CrossedMean {
  std::size_t rows, columns;
  double value;
  Interval interval;
};

/// effects[row][column] = mean + row effect + column effect + rest, all three random. The variance of the mean is estimated without bias by
/// (MS_rows + MS_columns − MS_rest) / (rows · columns), and its degrees of freedom as Satterthwaite 1946, doi:10.2307/3002019, does; never
/// less than the larger of the two alone. Throws if there are fewer than two rows or columns, if rows differ in length, or if a value is
/// not finite.
CrossedMean crossed_mean(const std::vector<std::vector<double>>& effects, double level);

}  // namespace ffn::stats
