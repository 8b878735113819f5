// The best groups of a facet, by what they are shown by.
#pragma once

#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Several if they are equal; none where no group has a value, or where a time was reached by no run. More hits come first for a time.
std::vector<const GroupResult*> best_groups(const Comparison& comparison, const Facet& facet);

}  // namespace ffn
