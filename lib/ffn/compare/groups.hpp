// One value of the compared key by itself: its runs, and what they are summarised and shown by.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/outcomes.hpp"

namespace ffn {

/// All of a group but what it is shown by, which the whole comparison decides.
GroupResult summarise(const std::string& value, const std::vector<const FoundRun*>& runs, const Metric& metric, double alpha);

/// Times of which some were not reached: medians of those that were, beside how many.
void show_medians_of_hits(Comparison& comparison);

/// The centre that groups are shown by: one for the whole comparison, of a logged metric.
void choose_shown(Comparison& comparison);

}  // namespace ffn
