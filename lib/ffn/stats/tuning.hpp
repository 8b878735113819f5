// The best point of a tuning grid.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

/// The scale on which points are compared.
enum class PointScale { values, logarithms, ranks };

/// outcomes[point][seed] of one variant, the same seeds for all; no value: the run diverged, failed or never got there.
using PointOutcomes = std::vector<std::vector<Outcome>>;

/// One scale for all variants that are compared: values of a metric to be high; of one to be low logarithms, or ranks where any value of
/// any variant is 0 or less, which has no logarithm and is no reason to let the largest loss decide.
PointScale point_scale(const std::vector<PointOutcomes>& variants, Direction direction);

/// One point over the tuning seeds.
struct PointScore {
  std::size_t bad = 0;                   ///< runs without a value
  std::optional<double> mean;            ///< of those with one
  std::optional<double> judged;          ///< mean on the scale; a rank is among all runs of the variant
  std::optional<double> standard_error;  ///< of `judged`; none of a single run
};

struct PointChoice {
  std::size_t index;
  std::vector<PointScore> scores;
};

/// Fewer runs without a value are better, then the mean on the scale is. With `line`, the points are those of one ordered axis: neighbours
/// of the best that fall short of it by no more than one standard error of the paired difference are as good, and the middle of them is
/// chosen; where two are in the middle, the better.
/// Throws if there is no point or no seed, and for logarithms of values that are not positive.
PointChoice choose_point(const PointOutcomes& outcomes, Direction direction, bool line, PointScale scale);

/// How much a wrong point costs, for each seed: the mean over the points of min(ℓ, ℓ₀) − min ℓ, ℓ₀ before training, which a run without a
/// value counts as. Of a metric to be high the other way round. Source: Wortsman et al. 2023, "Small-scale proxies for large-scale
/// Transformer training instabilities", arXiv:2309.14322, of learning rates. Empty where a value of `before`, shaped as `outcomes`, is
/// missing.
std::vector<double> sensitivity(const PointOutcomes& outcomes, const PointOutcomes& before, Direction direction);

}  // namespace ffn::stats
