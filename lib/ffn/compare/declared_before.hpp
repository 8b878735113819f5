// Whether an answer is to the question that was declared before its runs were seen.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Fills in Comparison::history. `asked`: as it was given to compare_runs().
void qualify(Comparison& comparison, const CompareConfig& asked);

}  // namespace ffn
