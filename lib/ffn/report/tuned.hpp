// What a comparison's variants were tuned to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

/// What the verdicts are of: "Each is judged at its own train.optimizer.lr, chosen by val/loss on 5 other seeds: …".
std::string tuned_sentence(const TuningResult& tuned);

/// Choices by another metric than the compared one, choices at the ends of their grid, and what too few seeds leave open.
/// None where nothing was tuned.
std::vector<std::string> tuned_notes(const Comparison& c);

/// What one choice for all seeds leaves to chance; empty where seeds and min_effect make up for it.
std::string caution_about_one_choice(std::size_t tuning_seeds, std::size_t judging_seeds, double min_effect);

/// What each variant was given: its value, or how many seeds chose which.
Table choices_table(const TuningResult& tuned);

/// The metric over the grid: a row a variant, after its name a column for each point; the chosen one with a star, or with how many
/// seeds chose it.
Table curve_table(const TuningResult& tuned);
/// What stands above it.
std::string curve_caption(const TuningResult& tuned);

}  // namespace ffn
