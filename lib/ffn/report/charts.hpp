// Every chart of a comparison. Each is nothing where its question does not arise. Depends on compare and report.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"
#include "ffn/report/curves.hpp"
#include "ffn/report/figure.hpp"

namespace ffn::pictures {

/// Whether there is a difference to draw: where no run has a value there is none.
bool has_effects(const Comparison& comparison);
/// Each pair's difference from the reference with its interval, one under the other.
std::optional<Figure> interval_figure(const Comparison& comparison);
/// Draws a pair's bar alone, for a row of a table, under an id; `width` × 22 pixels, the axis of all pairs. The comparison outlives it.
std::function<std::string(const PairResult&, const std::string& id)> interval_bars(const Comparison& comparison, double width);
/// The axis above them.
std::string interval_axis(const Comparison& comparison, double width, const std::string& id);

/// A metric over the steps, a panel per facet.
std::optional<Figure> learning_figure(const Comparison& comparison, const CurveSet& curves);

/// The share of runs that have reached the target.
std::optional<Figure> survival_figure(const Comparison& comparison);

/// Every run a dot, pairs joined.
std::optional<Figure> distribution_figure(const Comparison& comparison);

/// The metric over the levels of a numeric key: a facet's, or the compared one.
std::optional<Figure> effect_figure(const Comparison& comparison);

/// What each variant was tuned to, and the scores that the choice rests on.
std::optional<Figure> tuning_figure(const Comparison& comparison);

/// The metric against parameters, FLOPs and seconds.
std::optional<Figure> cost_figure(const Comparison& comparison);

/// The metric over the compared key and the one that makes the facets.
std::optional<Figure> heat_map_figure(const Comparison& comparison);

/// How far a sequential design has come.
std::optional<Figure> interim_figure(const Comparison& comparison);

}  // namespace ffn::pictures
