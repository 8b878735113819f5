// One pair of a comparison: which runs meet, and the test that judges them.
#pragma once

#include "ffn/compare/pair_scale.hpp"
#include "ffn/compare/pairs.hpp"
#include "ffn/compare/sequential.hpp"

namespace ffn {

/// One pair, by seed. Nothing without a seed in common. In a sequential design as far as its last interim analysis.
std::optional<PairResult> compare_pair(const RunGroup& runs, const RunGroup& reference, const Metric& metric, const PairScale& scale,
                                       const stats::CompareOptions& options, const std::optional<SequentialRequest>& sequential);

/// One pair without a seed in common; a failed run has no value.
PairResult compare_apart(const RunGroup& runs, const RunGroup& reference, const Metric& metric, const PairScale& scale,
                         const CompareRequest& request, const stats::CompareOptions& options);

}  // namespace ffn
