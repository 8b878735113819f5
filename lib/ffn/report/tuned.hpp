// Tuned values of a comparison's variants.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

/// Names the variants that verdicts are about: "Each is judged at its own train.optimizer.lr, chosen by val/loss on 5 other seeds: …".
std::string tuned_sentence(const TuningResult& tuned);

/// Whether that names the choice of every variant.
bool names_all_choices(const TuningResult& tuned);

/// Each variant's value, or how many seeds chose which.
Table choices_table(const TuningResult& tuned);

/// The metric over the grid: a row a variant, after its name a column for each point; the chosen one with a star, or with how many
/// seeds chose it.
Table curve_table(const TuningResult& tuned);
/// The caption of curve_table().
std::string curve_caption(const TuningResult& tuned);

/// A row a variant: how much a wrong value costs it (stats::sensitivity), and how much more than the first variant, paired by tuning seed;
/// none where no variant's is known.
std::optional<Table> sensitivity_table(const TuningResult& tuned, double alpha);
std::string sensitivity_caption(const TuningResult& tuned, double alpha);

/// A mean over tuning seeds with Student's t interval; of one seed without.
stats::Centre sensitivity_estimate(const std::vector<double>& of_seeds, double alpha);
/// The paired difference of a variant's from the first's; none of the first itself, or where either is not known.
std::optional<stats::Centre> sensitivity_difference(const TuningResult& tuned, std::size_t variant, double alpha);

/// A point as the choice sees it, with Student's t interval: by logarithms where a loss is positive; the plain mean where a study of
/// earlier versions has no more. None without a score.
std::optional<stats::Centre> tuned_estimate(const TunedVariant& variant, const TunedVariant::Point& point, double alpha);

}  // namespace ffn
