// Which point of a grid is the best. Depends on the rest of ffn/stats only.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

/// One point over the tuning seeds.
struct PointScore {
  std::size_t bad = 0;         ///< runs without a value
  std::optional<double> mean;  ///< of those with one
  std::optional<double> judged;          ///< mean of what is judged: of the values, or of their logarithms
  std::optional<double> standard_error;  ///< of `judged`; none of a single run
};

struct PointChoice {
  std::size_t index;
  std::vector<PointScore> scores;
  bool logarithms;  ///< are judged, not the values
};

/// outcomes[point][seed], the same seeds for all; no value: the run diverged, failed or never got there. Fewer such runs are better, then
/// the mean is: of logarithms for a metric to be low whose values are all positive. With `line`, the points are those of one ordered
/// axis: neighbours of the best that fall short of it by no more than one standard error of the paired difference are as good, and the
/// middle of them is chosen, of two the lower.
/// Throws if there is no point or no seed.
PointChoice choose_point(const std::vector<std::vector<Outcome>>& outcomes, Direction direction, bool line);

}  // namespace ffn::stats
