// Notes on the data and the curves of a comparison's runs: baselines, limits, shared texts and starts, losses that rose or still fall.
#pragma once

#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn {

void add_data_notes(const std::vector<FoundRun>& runs, Comparison& comparison);

}  // namespace ffn
