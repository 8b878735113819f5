// A contrast of several variants: one number a seed, such as a mean of differences or a difference of differences. Depends on paired.hpp
// only.
#pragma once

#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

/// Tests whether the mean of a contrast is 0 by the sign-flip test, with the interval that inverts it and, for a min_effect, both one-sided
/// tests, as compare_paired() does of a difference. `contrast`: one value a seed, variant − reference as an Effect is; `values` says
/// whether it is of log ratios. Exact if the contrast is symmetric about 0, as it is where labels could be swapped within each seed. Throws
/// if the contrast is empty or not finite, and as compare_paired() does.
PairedResult compare_contrast(const std::vector<double>& contrast, Direction direction, PairedValues values,
                              const CompareOptions& options = {});

}  // namespace ffn::stats
