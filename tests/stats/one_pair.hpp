// A comparison of one pair alone.
#pragma once

#include <vector>

#include "ffn/stats/scale.hpp"

namespace ffn::stats {

/// The scale that the rules choose for it.
inline Scale choose_scale(MetricKind kind, const std::vector<Outcome>& variant, const std::vector<Outcome>& reference) {
  std::vector<Outcome> runs = variant;
  runs.insert(runs.end(), reference.begin(), reference.end());
  return choose_test(kind, choose_values(kind, runs), variant, reference);
}

}  // namespace ffn::stats
