// When a run has reached its target: one rule for the training loop and for a target that is asked for afterwards. Torch-free.
#pragma once

#include <algorithm>
#include <cmath>

#include "ffn/config/metrics.hpp"
#include "ffn/train/run_result.hpp"

namespace ffn {

/// An accuracy of outputs that are not finite is none, though it is a number.
inline bool meets_target(const TargetConfig& target, const Evaluation& evaluation) {
  const auto& metrics = evaluation.metrics;
  return std::all_of(metrics.begin(), metrics.end(),
                     [](const auto& m) { return m.first != metric::kValLoss.name || std::isfinite(m.second); }) &&
         std::any_of(metrics.begin(), metrics.end(), [&](const auto& m) { return m.first == target.metric && target.reached(m.second); });
}

}  // namespace ffn
