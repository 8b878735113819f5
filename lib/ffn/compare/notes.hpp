// Facts that a reader of a comparison needs beside its numbers.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Adds to the comparison's notes what goes along with the compared key, what is not measured, tied for coarse evaluations,
/// computed differently or without a pair, and budgets that differ (which also sets mixed_budgets). `varying`: keys whose values differ
/// among the runs, and those that differ `within` a facet; `is_time`: the metric is a time to a target.
void add_notes(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, const std::set<std::string>& within,
               bool is_time, Comparison& comparison);

void add_data_notes(const std::vector<FoundRun>& runs, Comparison& comparison);

/// The part that one tuned choice for all seeds leaves to chance; empty where seeds and min_effect make up for it.
std::string caution_about_one_choice(std::size_t tuning_seeds, std::size_t judging_seeds, double min_effect);

/// Says so where the key that was asked for has one value only.
void note_constant(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, Comparison& comparison);

}  // namespace ffn
