// Learning curves: the centre of all seeds with its interval, single seeds faint behind.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::pictures {

namespace {

constexpr std::size_t kRunsDrawnWhole = 400, kMostOfVariant = 40, kMostSeeds = 480;
constexpr std::size_t kLostMarker = 4;  // ✕

/// How many seeds of a variant are drawn.
struct SeedCap {
  std::size_t of_variant = SIZE_MAX;
  std::size_t all = 0;

  explicit SeedCap(const CurveSet& set) {
    for (const auto& [group, curves] : set.groups) all += curves.runs.size();
    if (all > kRunsDrawnWhole)
      of_variant = std::clamp<std::size_t>(kMostSeeds / std::max<std::size_t>(1, set.groups.size()), 1, kMostOfVariant);
  }
};

bool is_lost(const RunCurve& curve) { return curve.run->state == RunState::diverged || curve.run->state == RunState::failed; }

double last_value(const RunCurve& curve) {
  for (auto at = curve.values.rbegin(); at != curve.values.rend(); ++at) {
    if (std::isfinite(*at)) return *at;
  }
  return INFINITY;
}

std::vector<const RunCurve*> drawn_runs(const GroupCurves& curves, const SeedCap& cap) {
  std::vector<const RunCurve*> by_rank;
  for (const auto& run : curves.runs) by_rank.push_back(&run);
  std::stable_sort(by_rank.begin(), by_rank.end(), [](const auto* a, const auto* b) { return last_value(*a) < last_value(*b); });
  std::vector<const RunCurve*> out;
  for (const auto i : evenly(by_rank.size(), cap.of_variant)) out.push_back(by_rank[i]);
  return out;
}

/// What a panel draws, and the axes for it.
class LearningPanel {
 public:
  LearningPanel(const CurveSet& set, PanelGroups panel, std::shared_ptr<SeriesList> series, const SeedCap& cap)
      : set_(set), panel_(std::move(panel)), shared_(std::move(series)), series_(*shared_), cap_(cap) {}

  std::string draw(const Form& form, const std::string& style) const {
    FrameText text{"Learning curves of " + set_.metric + (panel_.title.empty() ? "" : ", " + panel_.title), description(),
                   form.log_x ? "step (logarithmic)" : "step", set_.metric + (form.log_y ? " (logarithmic)" : "")};
    const auto& shared = form.log_y ? shared_log_y : shared_linear_y;
    const Axis y = shared ? *shared : y_axis(y_values(form.log_y), form.log_y);
    text.y_label += what_is_cut(y);
    FrameRoom room;
    room.height = form.is_wide() ? 340 : 250;
    double widest = 0;
    for (const auto* group : panel_.groups)
      widest = std::max(widest, text_width(series_.name(series_.index(group->value)) + lost_text(*group)));
    room.right = form.is_wide() ? std::min(widest, 160.0) + 18 : 12;
    Frame frame(form, text, x_axis(form), y, room);
    frame.begin_clip();
    if (set_.target) frame.svg.line(frame.left, frame.y.at(*set_.target), frame.right, frame.y.at(*set_.target), "target");
    for (const auto* group : panel_.groups) draw_seeds(frame, *group);
    for (const auto* group : panel_.groups) draw_centre(frame, *group);
    frame.end_clip();
    if (form.is_wide()) draw_labels(frame);
    if (style.empty()) draw_hover(frame);
    return frame.svg.element(style);
  }

  /// The first percent of the steps, where a loss falls from its start, does not set the range; nor does one seed of a hundred. A share
  /// begins no further away than its range ends, and is shown whole.
  std::vector<double> y_values(bool log_y) const {
    const bool whole = set_.range.is_finite();
    std::vector<double> values;
    const double begin = whole ? 0 : 0.01 * static_cast<double>(set_.steps.back());
    for (const auto* group : panel_.groups) {
      std::vector<double> of_seeds;
      for (const auto& run : curves_of(*group).runs) {
        for (std::size_t s = 0; s < set_.steps.size(); ++s) {
          const bool usable = std::isfinite(run.values[s]) && static_cast<double>(set_.steps[s]) >= begin && (!log_y || run.values[s] > 0);
          if (usable) of_seeds.push_back(run.values[s]);
        }
      }
      if (!of_seeds.empty()) {
        std::sort(of_seeds.begin(), of_seeds.end());
        for (const double p : {whole ? 0.0 : 0.01, whole ? 1.0 : 0.99}) values.push_back(stats::sorted_quantile(of_seeds, p));
      }
      for (const auto& point : curves_of(*group).points) {
        if (static_cast<double>(point.step) < begin) continue;
        for (const double x : {point.centre, point.high}) values.push_back(x);
        if (whole) values.push_back(point.low);
      }
    }
    if (set_.target) values.push_back(*set_.target);
    return values;
  }

  Axis y_axis(const std::vector<double>& values, bool log_y) const {
    Axis axis = axis_for(values, log_y ? AxisKind::log10 : AxisKind::linear);
    const auto& range = set_.range;
    if (log_y || !range.is_finite()) return axis;
    const double margin = 0.04 * (range.high - range.low);
    axis.low = std::max(axis.low, range.low - margin);
    axis.high = std::min(axis.high, range.high + margin);
    return axis;
  }

  std::optional<Axis> shared_linear_y, shared_log_y;  ///< of all panels

 private:
  const GroupCurves& curves_of(const GroupResult& group) const { return set_.groups.at(&group); }
  std::string class_of(const GroupResult& group) const { return series_class(series_.index(group.value)); }

  Axis x_axis(const Form& form) const {
    std::vector<double> steps;
    for (const auto step : set_.steps) steps.push_back(static_cast<double>(step));
    const auto first = std::upper_bound(steps.begin(), steps.end(), 0.0);
    const double low = first == steps.end() ? 1 : *first;
    Axis axis{0, std::max(1.0, steps.back()), AxisKind::linear};
    if (form.log_x) axis = {low, std::max(low * 2, steps.back()), AxisKind::log10};
    axis.whole = true;
    return axis;
  }

  // Where lines come in from beyond the frame, they are not to be taken for such that begin at it.
  std::string what_is_cut(const Axis& y) const {
    bool above = false, below = false;
    for (const auto* group : panel_.groups) {
      for (const auto& point : curves_of(*group).points) {
        if (!std::isfinite(point.centre) || (y.kind == AxisKind::log10 && point.centre <= 0)) continue;
        above = above || point.centre > y.high;
        below = below || point.centre < y.low;
      }
    }
    return above || below ? std::string("; cut: lines begin ") + (above && below ? "beyond" : above ? "above" : "below") : "";
  }

  void draw_seeds(Frame& frame, const GroupResult& group) const {
    frame.svg.open(class_of(group));
    for (const auto* run : drawn_runs(curves_of(group), cap_)) {
      std::vector<Point> points;
      for (std::size_t s = 0; s < set_.steps.size(); ++s) {
        if (std::isfinite(run->values[s])) points.push_back({frame.x.at(static_cast<double>(set_.steps[s])), frame.y.at(run->values[s])});
      }
      frame.svg.path(points, "seed");
      if (is_lost(*run) && !points.empty())
        frame.svg.marker(kLostMarker, points.back().x, points.back().y, 7, false,
                         "seed " + std::to_string(run->run->seed) + " " + to_string(run->run->state));
    }
    frame.svg.close();
  }

  void draw_centre(Frame& frame, const GroupResult& group) const {
    const auto& points = curves_of(group).points;
    std::vector<Point> whole, after, upper, lower;
    for (const auto& point : points) {
      const double x = frame.x.at(static_cast<double>(point.step)),
                   y = std::isfinite(point.centre) ? frame.y.at(point.centre) : std::nan("");
      (point.gone > 0 ? after : whole).push_back({x, y});
      upper.push_back({x, std::isfinite(point.high) ? frame.y.at(point.high) : point.high > 0 ? frame.top - 4 : frame.bottom + 4});
      lower.push_back({x, std::isfinite(point.low) ? frame.y.at(point.low) : point.low > 0 ? frame.top - 4 : frame.bottom + 4});
    }
    frame.svg.open(class_of(group));
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    frame.svg.polygon(upper, "band");
    frame.svg.path(whole, "l");
    frame.svg.path(after, "l frag");
    const std::size_t series = series_.index(group.value);
    double next = frame.left + 20 + 17 * static_cast<double>(series % 4);
    for (const auto* part : {&whole, &after}) {
      for (const auto& point : *part) {
        if (point.x < next || !std::isfinite(point.y)) continue;
        frame.svg.marker(marker_of(series), point.x, point.y, 7);
        next = point.x + 70;
      }
    }
    frame.svg.close();
  }

  // " (diverged)", where the line has no value at the last step because runs are lost: all of them, or so many that the median is.
  std::string lost_text(const GroupResult& group) const {
    const auto& runs = curves_of(group).runs;
    const auto& points = curves_of(group).points;
    if (points.empty()) return "";
    const auto count = [&](RunState state) {
      return static_cast<std::size_t>(
          std::count_if(runs.begin(), runs.end(), [&](const RunCurve& curve) { return curve.run->state == state; }));
    };
    const std::size_t diverged = count(RunState::diverged), failed = count(RunState::failed), lost = diverged + failed;
    if (lost == 0 || (lost < runs.size() && std::isfinite(points.back().centre))) return "";
    if (lost == runs.size() && points.back().step == set_.steps.back() && std::isfinite(points.back().centre)) return "";
    return " (" + (lost < runs.size() ? std::to_string(lost) + " of " + std::to_string(runs.size()) + " " : "") +
           (failed == 0     ? "diverged"
            : diverged == 0 ? "failed"
                            : "lost") +
           ")";
  }

  // At the height where the line ends; of one that is lost, where the worst values are.
  void draw_labels(Frame& frame) const {
    std::vector<double> wanted;
    std::vector<const GroupResult*> labelled;
    for (const auto* group : panel_.groups) {
      const auto& points = curves_of(*group).points;
      if (points.empty()) continue;
      const bool lost = !lost_text(*group).empty();
      wanted.push_back((!lost ? frame.y.at(points.back().centre) : set_.higher_is_better ? frame.bottom : frame.top) + 4);
      labelled.push_back(group);
    }
    const auto placed = spread_labels(wanted, 14, frame.top + 6, frame.bottom + 4);
    for (std::size_t i = 0; i < labelled.size(); ++i) {
      const std::size_t series = series_.index(labelled[i]->value);
      frame.svg.open(series_class(series));
      const std::string lost = lost_text(*labelled[i]);
      frame.svg.marker(lost.empty() ? marker_of(series) : kLostMarker, frame.right + 8, placed[i] - 4, 7);
      frame.svg.text(frame.right + 15, placed[i], fitted_text(series_.name(series), 150 - text_width(lost)) + lost);
      frame.svg.close();
    }
  }

  // For the script: x of a step, and what stands there.
  void draw_hover(Frame& frame) const {
    std::string tips;
    for (const auto step : set_.steps) {
      std::string text = "step " + format_count(step);
      for (const auto* group : panel_.groups) {
        const auto& points = curves_of(*group).points;
        const auto at =
            std::lower_bound(points.begin(), points.end(), step, [](const CurvePoint& point, std::int64_t s) { return point.step < s; });
        if (at != points.end() && at->step == step)
          text += "|" + series_.name(series_.index(group->value)) + " " + estimate_text(at->centre, at->low, at->high);
      }
      tips += (tips.empty() ? "" : ";") + px(frame.x.at(static_cast<double>(step))) + "=" + escaped(text);
    }
    frame.svg.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top, "",
                   "fill=\"none\" pointer-events=\"all\" data-cursor=\"" + tips + "\"");
  }

  std::string description() const {
    std::vector<std::string> ends;
    for (const auto* group : panel_.groups) {
      const auto& points = curves_of(*group).points;
      if (points.empty()) continue;
      const std::string name = series_.name(series_.index(group->value)), lost = lost_text(*group);
      ends.push_back(lost.empty() ? name + " " + estimate_text(points.back().centre, points.back().low, points.back().high) : name + lost);
    }
    return "At the last step: " + join(ends, "; ") + ". The table below has the numbers.";
  }

  const CurveSet& set_;
  PanelGroups panel_;
  std::shared_ptr<SeriesList> shared_;
  const SeriesList& series_;
  SeedCap cap_;
};

// One y axis for all panels, so that they can be compared; none where a panel would have too little of it.
std::optional<Axis> shared_axis(const std::vector<std::shared_ptr<LearningPanel>>& panels, bool log_y) {
  constexpr double kLeastShare = 0.1;
  const auto length = [&](const std::vector<double>& values) {
    double low = INFINITY, high = -INFINITY;
    for (const double x : values) {
      if (std::isfinite(x) && (!log_y || x > 0)) {
        low = std::min(low, x);
        high = std::max(high, x);
      }
    }
    return low < high ? log_y ? std::log(high / low) : high - low : 0;
  };
  std::vector<double> all;
  for (const auto& panel : panels) {
    const auto own = panel->y_values(log_y);
    all.insert(all.end(), own.begin(), own.end());
  }
  const bool large_enough = std::all_of(panels.begin(), panels.end(), [&](const auto& panel) {
    const double own = length(panel->y_values(log_y));
    return own == 0 || own >= kLeastShare * length(all);  // what is level is so on every axis
  });
  return large_enough ? std::optional<Axis>(panels[0]->y_axis(all, log_y)) : std::nullopt;
}

Numbers learning_numbers(const Comparison& c, const CurveSet& set) {
  Numbers out{group_headers(c), {}};
  for (const char* name : {"step", "runs", "gone", "centre", "low", "high"}) out.headers.emplace_back(name);
  constexpr std::size_t kRowsOfVariant = 5, kMostVariants = 100;
  const bool many = set.groups.size() > kMostVariants;  // then their last steps alone
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const auto& points = set.groups.at(&group).points;
      const auto chosen = evenly(points.size(), kRowsOfVariant);
      for (const auto i : many && !chosen.empty() ? std::vector<std::size_t>{chosen.back()} : chosen) {
        const auto& point = points[i];
        auto row = group_cells(c, facet, group);
        for (const double count : {static_cast<double>(point.step), static_cast<double>(point.runs), static_cast<double>(point.gone)})
          row.push_back(count_cell(count));
        for (const double x : {point.centre, point.low, point.high}) row.push_back(number_cell(x));
        out.rows.push_back(std::move(row));
      }
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> learning_figure(const Comparison& c, const CurveSet& set) {
  if (set.steps.size() < 2) return std::nullopt;
  const auto series = std::make_shared<SeriesList>(c);
  const SeedCap cap(set);
  Figure out;
  out.id = "learning-curves-" + slug(set.metric);
  out.heading = "Learning curves: " + set.metric;
  out.reading = "Line: " + centre_name(set.centre) + " over all seeds at that step; band: its " + format_level(1 - c.alpha) +
                " interval; faint: single seeds. " + (set.higher_is_better ? "Higher" : "Lower") + " is better" +
                (set.target ? "; the dotted line is the target" : "") + (set.floor ? "; " + floor_text(set) : "") + ".";
  out.legend = series->legend();
  out.names_lines = true;
  out.notes = set.notes;
  const auto any_group = [&](auto holds) {
    return std::any_of(set.groups.begin(), set.groups.end(), [&](const auto& entry) { return holds(entry.second); });
  };
  if (any_group([](const GroupCurves& curves) { return !curves.points.empty() && curves.points.back().gone > 0; }))
    out.notes.push_back(
        "✕: a run diverged or failed. From there the line, dotted, is the median and the band the quartiles of all runs, lost ones being worst, so that survivors do not flatter");
  else if (any_group([](const GroupCurves& curves) { return std::any_of(curves.runs.begin(), curves.runs.end(), is_lost); }))
    out.notes.push_back("✕: a run diverged or failed");
  if (cap.of_variant != SIZE_MAX && cap.all > cap.of_variant * set.groups.size())
    out.notes.push_back("of " + format_count(static_cast<std::int64_t>(cap.all)) + " runs at most " + std::to_string(cap.of_variant) +
                        " seeds per variant are drawn, evenly by rank; lines and bands are of all");
  std::vector<std::shared_ptr<LearningPanel>> drawings;
  for (const auto& panel : panels_of(c, out.notes)) {
    drawings.push_back(std::make_shared<LearningPanel>(set, panel, series, cap));
    out.panels.push_back(
        {panel.title, [drawing = drawings.back()](const Form& form, const std::string& style) { return drawing->draw(form, style); }});
  }
  out.log_y = spans_decades(set);
  out.log_x = !set.steps.empty() && !any_group([&](const GroupCurves& curves) {  // all of it happens in the first tenth of the steps
    if (curves.points.empty()) return false;
    const double end = curves.points.back().centre, way = std::abs(curves.points.front().centre - end);
    return std::any_of(curves.points.begin(), curves.points.end(), [&](const CurvePoint& point) {
      return point.step > set.steps.back() / 10 && !(std::abs(point.centre - end) <= way / 10);
    });
  });
  if (!drawings.empty()) {
    const auto linear = shared_axis(drawings, false), log = shared_axis(drawings, true);
    for (const auto& drawing : drawings) {
      drawing->shared_linear_y = linear;
      drawing->shared_log_y = log;
    }
    if (!(out.log_y ? log : linear)) out.notes.push_back("the panels are too far apart for one y axis: each has its own");
  }
  out.numbers = learning_numbers(c, set);
  out.x_switch = out.y_switch = true;
  return out;
}

}  // namespace ffn::pictures
