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

/// Differences in the metric's units: of the mean, or by ranks where a run has no value.
inline PairedResult compare_paired(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference, Direction direction,
                                   const CompareOptions& options = {}) {
  std::size_t missing = 0;
  for (const auto* side : {&variant, &reference})
    for (const Outcome& run : *side) missing += !has_value(run);
  const std::string ranks =
      "signed ranks, because " + std::to_string(missing) + " of " + std::to_string(2 * variant.size()) + " runs have no value";
  const Scale by_mean{PairedValues::difference, PairedTest::sign_flip_of_mean, "sign flips of the mean difference: every run has a value"};
  return compare_paired(variant, reference, direction,
                        missing > 0 ? Scale{PairedValues::difference, PairedTest::signed_rank, ranks} : by_mean, options);
}

}  // namespace ffn::stats
