#include "ffn/report/terminal_curves.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/report/answer_tables.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/series.hpp"
#include "ffn/report/terminal_chart.hpp"

namespace ffn::report {

namespace {

// Beyond the first percent of the steps, where a loss falls from its start; a share is shown whole.
Axis y_axis(const CurveSet& set, const PanelGroups& panel) {
  std::vector<double> values;
  const double begin = set.range.is_finite() ? 0 : 0.01 * static_cast<double>(set.steps.back());
  for (const auto* group : panel.groups) {
    for (const auto& point : set.groups.at(group).points) {
      if (static_cast<double>(point.step) < begin) continue;
      for (const double x : {point.centre, point.low, point.high}) values.push_back(x);
    }
  }
  if (set.target) values.push_back(*set.target);
  return axis_for(values, spans_decades(set) ? AxisKind::log10 : AxisKind::linear);
}

// If half of what happens does so within the first 5 % of the steps, a linear axis has no room for it.
bool happens_early(const CurveSet& set) {
  double early = 0, all = 0;
  const double begin = 0.05 * static_cast<double>(set.steps.back());
  const auto height = [&](const CurvePoint& point) { return spans_decades(set) ? std::log(point.centre) : point.centre; };
  for (const auto& [group, curves] : set.groups) {
    for (std::size_t i = 1; i < curves.points.size(); ++i) {
      const double change = std::abs(height(curves.points[i]) - height(curves.points[i - 1]));
      if (!std::isfinite(change)) continue;
      all += change;
      if (static_cast<double>(curves.points[i].step) <= begin) early += change;
    }
  }
  return early > 0.5 * all;
}

Axis x_axis(const CurveSet& set) {
  const double last = std::max(1.0, static_cast<double>(set.steps.back()));
  Axis axis{0, last};
  if (happens_early(set)) {
    const auto first = std::upper_bound(set.steps.begin(), set.steps.end(), std::int64_t{0});
    const double low = first == set.steps.end() ? 1 : static_cast<double>(*first);
    axis = {low, std::max(2 * low, last), AxisKind::log10};
  }
  axis.whole = true;
  return axis;
}

TerminalChart chart_of(const CurveSet& set, const PanelGroups& panel, const SeriesList& series) {
  const Axis x = x_axis(set);
  const auto kind = [](bool is_log) { return is_log ? " (logarithmic)" : ""; };
  TerminalChart chart{
      set.metric + kind(spans_decades(set)) + " over the steps" + kind(x.kind == AxisKind::log10), x, y_axis(set, panel), {}, set.target};
  if (!panel.title.empty()) chart.title = printable(panel.title) + ": " + chart.title;
  for (const auto* group : panel.groups) {
    ChartLine line{series_ink(series.index(group->value)), {}};
    for (const auto& point : set.groups.at(group).points)
      line.points.push_back({static_cast<double>(point.step), point.centre, point.low, point.high, point.gone > 0});
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

// As in tables, of the runs whose curves could be read.
std::string seeds_behind(GroupResult group, const GroupCurves& curves) {
  group.num_done = group.num_diverged = group.num_failed = 0;
  for (const auto& curve : curves.runs) {
    const auto state = curve.run->state;
    if (is_finished(state))
      ++(state == RunState::done ? group.num_done : state == RunState::failed ? group.num_failed : group.num_diverged);
  }
  return seeds_text(group);
}

Table key(const Comparison& c, const CurveSet& set, const SeriesList& series) {
  AnswerTable table{"", key_columns(c), group_rows(c)};
  std::map<const GroupResult*, std::string> ends;
  std::vector<Estimate> estimates;
  for (const auto& row : table.rows) {
    if (const auto& points = set.groups.at(row.group).points; !points.empty())
      estimates.push_back({points.back().centre, points.back().low, points.back().high});
  }
  const auto texts = estimate_texts(estimates);
  auto text = texts.begin();
  for (const auto& row : table.rows) ends[row.group] = set.groups.at(row.group).points.empty() ? "-" : *text++;
  const auto add = [&](const std::string& header, auto&& of) { table.columns.push_back({Shows::other, header, Align::right, of}); };
  for (auto& column : table.columns) column.align = Align::left;
  table.columns.insert(table.columns.begin(), {Shows::other, "", Align::left, [&](const AnswerRow& row) {
                                                 return std::string(1, series_letter(series.index(row.group->value)));
                                               }});
  add("step", [&](const AnswerRow& row) {
    const auto& points = set.groups.at(row.group).points;
    return points.empty() ? "-" : format_count(points.back().step);
  });
  add(set.metric, [&](const AnswerRow& row) { return ends.at(row.group); });
  add("seeds", [&](const AnswerRow& row) { return seeds_behind(*row.group, set.groups.at(row.group)); });
  return table.plain();
}

bool any_point(const CurveSet& set, bool (*is_it)(const CurvePoint& point, std::size_t runs)) {
  return std::any_of(set.groups.begin(), set.groups.end(), [&](const auto& entry) {
    const auto& curves = entry.second;
    return std::any_of(curves.points.begin(), curves.points.end(),
                       [&](const CurvePoint& point) { return is_it(point, curves.runs.size()); });
  });
}

std::string caption(const Comparison& c, const CurveSet& set) {
  const bool has_bands = any_point(set, [](const CurvePoint& point, std::size_t) { return point.low < point.high; });
  return set.metric + ", " + (set.higher_is_better ? "higher" : "lower") + " is better; lines: " + centre_name(set.centre) +
         " over the seeds" + (has_bands ? ", thin dots: its " + format_level(1 - c.alpha) + " interval" : "") +
         (set.target ? "; level dots: the target" : "") + (set.floor ? "; " + floor_text(set) : "");
}

std::vector<std::string> notes_of(const CurveSet& set) {
  auto notes = set.notes;
  if (any_point(set, [](const CurvePoint& point, std::size_t) { return point.gone > 0; }))
    notes.push_back(
        "where a line is dotted runs have diverged or failed: it is the median of all runs, and its interval the quartiles, with the lost "
        "ones as the worst");
  if (any_point(set, [](const CurvePoint& point, std::size_t runs) { return point.runs + point.gone < runs; }))
    notes.push_back("not all seeds have a value at every step; a line is of those that have");
  return notes;
}

}  // namespace

std::string curves_text(const Comparison& c, const CurveSet& set, int width, bool color) {
  constexpr int kWidest = 120, kLeastOfSeveral = 60, kGap = 3;
  const SeriesList series(c);
  auto notes = notes_of(set);
  const auto panels = panels_of(c, notes);
  const int in_a_row = std::clamp((width + kGap) / (kLeastOfSeveral + kGap), 1, static_cast<int>(panels.size()));
  const int columns = std::min(kWidest, (width + kGap) / in_a_row - kGap), rows = panels.size() == 1 ? 16 : 11;
  std::vector<Block> charts;
  for (const auto& panel : panels) charts.push_back(drawn(chart_of(set, panel, series), columns, rows, color));

  // Titles that go on in a second line leave the charts beside each other level.
  std::size_t tallest = 0;
  for (const auto& chart : charts) tallest = std::max(tallest, chart.lines.size());
  for (auto& chart : charts) {
    while (chart.lines.size() < tallest) chart.lines.insert(chart.lines.begin(), std::string(chart.width, ' '));
  }

  std::string out = wrapped(caption(c, set), width) + "\n" + beside_each_other(charts, width) + "\n";
  out += laid_out(key(c, set, series), width, false);
  for (const auto& note : notes) out += wrapped("note: " + note, width);
  return out;
}

}  // namespace ffn::report
