// Learning curves: what metrics.jsonl of every run has, and what a group has at each step.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn::report {

/// The range of a metric's values.
struct ValueRange {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  /// Both ends known: a share.
  bool is_finite() const { return std::isfinite(low) && std::isfinite(high); }
};
/// As the catalogue of metrics has it; no time to the target is below 0.
ValueRange range_of(const std::string& metric);

/// The runs of a group at one step.
struct CurvePoint {
  std::int64_t step;
  std::size_t runs = 0;  ///< that the centre is of
  std::size_t gone = 0;  ///< diverged or failed before: they count as worst, so that survivors do not flatter
  double centre = 0, low = 0, high = 0;
};

/// A run's values at the set's steps: NaN where it has none.
struct RunCurve {
  const GroupRun* run;
  std::vector<double> values;
};

struct GroupCurves {
  std::vector<RunCurve> runs;
  std::vector<CurvePoint> points;  ///< one per step at which some run has a value
};

/// One metric over training.
struct CurveSet {
  std::string metric;
  bool higher_is_better = false;
  ShownCentre centre = ShownCentre::mean;
  std::optional<double> target;     ///< of the runs, if this is its metric and all have the same
  std::vector<std::int64_t> steps;  ///< the same for all
  std::map<const GroupResult*, GroupCurves> groups;
  std::vector<std::string> notes;
  ValueRange range = {};
  std::optional<double> floor = {};  ///< of a loss, where values lie below: they count as this
};

/// The floor of a metric's values: 1e-8 for losses and their gradients, where float32 has the right class's probability at 1, so
/// that 1e-20 says no more than 0 does. Nothing for other metrics.
std::optional<double> floor_of(const std::string& metric);

/// "values below 10⁻⁸ count as 10⁻⁸"; empty where none does.
std::string floor_text(const CurveSet& set);

/// A metric whose curve is asked for.
struct CurveRequest {
  std::string metric;
  std::optional<double> target;
};

/// Reads every run once, side by side. A run whose file cannot be read is named in the notes. `most_steps`: about
/// as many are kept, thinned().
std::vector<CurveSet> read_curves(const Comparison& comparison, const std::vector<CurveRequest>& requests, std::size_t most_steps = 80);

/// Summarizes `values`, with `gone` more runs worse than all: centre with interval, or, where some are gone, the median and the
/// quartiles. An interval ends where the metric's range does, which Student's t does not know.
CurvePoint curve_point(std::int64_t step, const std::vector<double>& values, std::size_t gone, bool higher_is_better, ShownCentre centre,
                       double alpha, const ValueRange& range = {});

/// Whether a logarithmic axis shows more of it: a loss that is positive and falls by more than a factor of 20.
bool spans_decades(const CurveSet& set);

/// Steps to draw, the first and the last among them: half of them evenly, half with even ratios, so that both kinds
/// of axis have enough.
std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& steps, std::size_t most);

/// `most` of `count` in order of rank, evenly; all if there are no more.
std::vector<std::size_t> evenly(std::size_t count, std::size_t most);

/// curve_point() at each of these steps at which some run has a value; a run that ended badly is gone from behind its last finite one.
std::vector<CurvePoint> curve_points(const std::vector<std::int64_t>& steps, const std::vector<RunCurve>& runs, bool higher_is_better,
                                     ShownCentre centre, double alpha, const ValueRange& range = {});

}  // namespace ffn::report
