#include "ffn/report/curves.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "ffn/base/side_by_side.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/stats/summary.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn::report {

namespace {

struct RunValues {
  const GroupRun* run;
  std::vector<MetricValues> rows;
  std::string problem;
};

void read_rows(const std::vector<std::string>& names, RunValues& out) {
  const auto path = RunDirectory(out.run->path).metrics_path();
  const auto facts = out.run->files.find("metrics.jsonl");
  const bool has_ended = is_finished(out.run->state) || facts != out.run->files.end();
  if (has_ended && facts == out.run->files.end()) return;  // keep: summary
  try {
    out.rows = read_metric_rows(path, names, has_ended ? &facts->second : nullptr);
  } catch (const Error& error) {
    out.problem = error.what();
  }
}

bool higher_is_better(const std::string& metric) { return metric_direction(metric).value_or(false); }

// At the set's steps, of which a run's own are among.
std::vector<double> values_at(const std::vector<std::int64_t>& steps, const std::vector<MetricValues>& rows, std::size_t metric) {
  std::vector<double> out(steps.size(), std::nan(""));
  std::size_t next = 0;
  for (const auto& row : rows) {
    while (next < steps.size() && steps[next] < row.step) ++next;
    if (next < steps.size() && steps[next] == row.step) out[next] = row.values[metric];
  }
  return out;
}

bool has_ended_badly(const GroupRun& run) { return run.state == RunState::diverged || run.state == RunState::failed; }

// A run is gone from behind its last finite value.
bool is_gone_at(const RunCurve& curve, std::size_t step) {
  if (!has_ended_badly(*curve.run)) return false;
  return std::none_of(curve.values.begin() + static_cast<std::ptrdiff_t>(step), curve.values.end(),
                      [](double x) { return std::isfinite(x); });
}

// A run that ended well has no values any more, at its hit (train.target.stop) say: a mean of the others would be of the slow ones.
bool has_ended_well_before(const RunCurve& curve, std::size_t step) {
  const auto begin = curve.values.begin();
  const auto finite = [](double x) { return std::isfinite(x); };
  return curve.run->state == RunState::done && std::any_of(begin, begin + static_cast<std::ptrdiff_t>(step), finite) &&
         std::none_of(begin + static_cast<std::ptrdiff_t>(step), curve.values.end(), finite);
}

bool goes_on_behind_its_line(const GroupCurves& curves, const std::vector<std::int64_t>& steps) {
  const std::int64_t end = curves.points.empty() ? -1 : curves.points.back().step;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (steps[s] <= end) continue;
    if (std::any_of(curves.runs.begin(), curves.runs.end(), [s](const RunCurve& run) { return std::isfinite(run.values[s]); })) return true;
  }
  return false;
}

double least_of(const std::vector<RunValues>& rows, std::size_t metric) {
  double least = INFINITY;
  for (const auto& run : rows) {
    for (const auto& row : run.rows) {
      if (row.values[metric] < least) least = row.values[metric];  // NaN is not
    }
  }
  return least;
}

void raise_to(double floor, std::vector<double>& values) {
  for (double& value : values) {
    if (value < floor) value = floor;  // NaN, a gap, stays
  }
}

}  // namespace

ValueRange range_of(const std::string& metric) {
  if (is_time_metric(metric)) return {0};
  const auto* row = find_metric_row(metric);
  return row ? ValueRange{row->low, row->high} : ValueRange{};
}

std::optional<double> floor_of(const std::string& metric) {
  for (const auto& row : {metric::kTrainLoss, metric::kTrainGradNorm, metric::kValLoss, metric::kValBitsPerChar, metric::kValBitsPerByte}) {
    if (metric == row.name) return 1e-8;
  }
  return std::nullopt;
}

std::string floor_text(const CurveSet& set) { return set.floor ? "values below 10⁻⁸ count as 10⁻⁸" : ""; }

CurvePoint curve_point(std::int64_t step, const std::vector<double>& values, std::size_t gone, bool higher_is_better, ShownCentre centre,
                       double alpha, const ValueRange& range) {
  CurvePoint point{step, values.size(), gone};
  if (gone > 0) {
    auto all = values;
    all.resize(values.size() + gone, higher_is_better ? -INFINITY : INFINITY);
    std::sort(all.begin(), all.end());
    point.centre = stats::sorted_quantile(all, 0.5);
    point.low = stats::sorted_quantile(all, 0.25);
    point.high = stats::sorted_quantile(all, 0.75);
    return point;
  }
  stats::Interval interval{-INFINITY, INFINITY, 1 - alpha};
  if (centre == ShownCentre::mean) {
    point.centre = stats::mean(values);
    if (values.size() > 1) interval = stats::t_interval(values, 1 - alpha);
  } else {
    const auto of =
        centre == ShownCentre::median ? stats::median_with_interval(values, 1 - alpha) : stats::geometric_mean(values, 1 - alpha);
    point.centre = of.value;
    interval = of.interval;
  }
  const bool known = values.size() > 1 && !interval.unbounded();
  point.low = known ? std::max(interval.low, range.low) : point.centre;
  point.high = known ? std::min(interval.high, range.high) : point.centre;
  return point;
}

bool spans_decades(const CurveSet& set) {
  if (set.higher_is_better) return false;
  double least = INFINITY, most = 0;
  for (const auto& [group, curves] : set.groups) {
    for (const auto& point : curves.points) {
      if (!(point.centre > 0)) return false;
      if (std::isfinite(point.centre)) {
        least = std::min(least, point.centre);
        most = std::max(most, point.centre);
      }
    }
  }
  return most > 20 * least;
}

std::vector<std::size_t> evenly(std::size_t count, std::size_t most) {
  std::vector<std::size_t> out;
  if (count <= most) most = count;
  for (std::size_t i = 0; i < most; ++i) out.push_back(most == 1 ? count / 2 : i * (count - 1) / (most - 1));
  return out;
}

std::vector<std::int64_t> thinned(const std::vector<std::int64_t>& steps, std::size_t most) {
  if (steps.size() <= most) return steps;
  const std::size_t half = most / 2;
  std::set<std::int64_t> kept;
  for (const auto i : evenly(steps.size(), half)) kept.insert(steps[i]);
  const double ratio = std::log(static_cast<double>(steps.size()));
  for (std::size_t i = 0; i < half; ++i) {
    const double place = std::exp(ratio * static_cast<double>(i) / static_cast<double>(half)) - 1;
    kept.insert(steps[std::min(steps.size() - 1, static_cast<std::size_t>(std::lround(place)))]);
  }
  return {kept.begin(), kept.end()};
}

std::vector<CurvePoint> curve_points(const std::vector<std::int64_t>& steps, const std::vector<RunCurve>& runs, bool higher_is_better,
                                     ShownCentre centre, double alpha, const ValueRange& range) {
  std::vector<CurvePoint> out;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (std::any_of(runs.begin(), runs.end(), [s](const RunCurve& run) { return has_ended_well_before(run, s); })) break;
    std::vector<double> values;
    std::size_t gone = 0;
    for (const auto& run : runs) {
      if (std::isfinite(run.values[s])) values.push_back(run.values[s]);
      else gone += is_gone_at(run, s);
    }
    if (!values.empty()) out.push_back(curve_point(steps[s], values, gone, higher_is_better, centre, alpha, range));
  }
  return out;
}

std::vector<CurveSet> read_curves(const Comparison& comparison, const std::vector<CurveRequest>& requests, std::size_t most_steps) {
  std::vector<std::string> names;
  for (const auto& request : requests) names.push_back(request.metric);
  std::vector<RunValues> all;
  for (const auto& facet : comparison.facets) {
    for (const auto& group : facet.groups) {
      for (const auto& run : group.runs) {
        if (run.state != RunState::pending) all.push_back({&run, {}, ""});
      }
    }
  }
  side_by_side(std::max(1u, std::thread::hardware_concurrency()), all.size(), [&](std::size_t i) { read_rows(names, all[i]); });

  std::set<std::int64_t> every_step;
  for (const auto& run : all) {
    for (const auto& row : run.rows) every_step.insert(every_step.end(), row.step);
  }
  const auto few = thinned({every_step.begin(), every_step.end()}, most_steps);
  std::set<std::int64_t> drawn(few.begin(), few.end());
  for (const auto& run : all) {
    if (run.run->state == RunState::done && !run.rows.empty()) drawn.insert(run.rows.back().step);  // budgets may differ
  }
  const std::vector<std::int64_t> steps(drawn.begin(), drawn.end());
  std::vector<CurveSet> sets;
  for (std::size_t m = 0; m < requests.size(); ++m) {
    CurveSet set{requests[m].metric,          higher_is_better(requests[m].metric), ShownCentre::mean, requests[m].target, steps, {}, {},
                 range_of(requests[m].metric)};
    const double least = least_of(all, m);
    if (const auto floor = floor_of(set.metric); floor && least < *floor) {
      set.floor = floor;
      set.range.low = std::max(set.range.low, *floor);
    }
    // The end of a curve is the number in the table, except that a mean of losses that have come to 0 would fill a log axis with its
    // interval.
    const bool positive = least > 0 || set.floor;
    if (set.metric == comparison.metric) set.centre = comparison.shown;
    else if (!set.higher_is_better && positive) set.centre = ShownCentre::geometric_mean;
    if (set.centre == ShownCentre::geometric_mean && !positive) set.centre = ShownCentre::mean;
    if (set.centre == ShownCentre::mean && set.floor) set.centre = ShownCentre::geometric_mean;
    std::size_t next = 0;
    bool cut = false;
    for (const auto& facet : comparison.facets) {
      for (const auto& group : facet.groups) {
        auto& curves = set.groups[&group];
        for (const auto& run : group.runs) {
          if (next == all.size() || all[next].run != &run) continue;
          const auto& read = all[next++];
          if (!read.problem.empty()) set.notes.push_back("not drawn: " + read.problem);
          else curves.runs.push_back({&run, values_at(set.steps, read.rows, m)});
          if (set.floor && read.problem.empty()) raise_to(*set.floor, curves.runs.back().values);
        }
        curves.points = curve_points(set.steps, curves.runs, set.higher_is_better, set.centre, comparison.alpha, set.range);
        cut = cut || goes_on_behind_its_line(curves, set.steps);
      }
    }
    if (cut)
      set.notes.push_back("runs end at their hit (train.target.stop): a variant's line ends with its first run, and " + set.metric +
                          " at the end is as of the hit and not compared");
    const auto empty = [](const auto& entry) { return entry.second.points.empty(); };
    if (!std::all_of(set.groups.begin(), set.groups.end(), empty)) sets.push_back(std::move(set));
  }
  return sets;
}

}  // namespace ffn::report
