// Time to the target: the share of runs that have reached it, by Kaplan and Meier, with the numbers still under way and lost below.
#include "ffn/stats/survival.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ffn/base/suggest.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

/// One variant's curve.
struct Reached {
  const GroupResult* group;
  std::vector<const GroupRun*> runs;  ///< that are over and have a target
  stats::SurvivalCurve curve;
  std::vector<std::optional<stats::Interval>> intervals;
};

std::optional<Reached> reached_of(const GroupResult& group, double level) {
  Reached out{&group, {}, {{}, 0}, {}};
  std::vector<stats::Hit> hits;
  for (const auto& run : group.runs) {
    if (run.to_target) {
      out.runs.push_back(&run);
      hits.push_back(*run.to_target);
    }
  }
  if (hits.empty()) return std::nullopt;
  out.curve = stats::kaplan_meier(hits);
  out.intervals = stats::unreached_intervals(out.curve, level);
  return out;
}

bool is_lost_by(const GroupRun& run, double time) { return run.lost_at && *run.lost_at <= time; }

std::size_t lost_by(const Reached& reached, double time) {
  return static_cast<std::size_t>(
      std::count_if(reached.runs.begin(), reached.runs.end(), [&](const auto* run) { return is_lost_by(*run, time); }));
}

// Kaplan and Meier's estimate has a run at risk at the very time at which it gets there, and lost ones to the end of their budget, since it
// is known that they never get there; for a reader both are over, and with the line's share the numbers make up all runs.
std::size_t under_way(const Reached& reached, double time) {
  return static_cast<std::size_t>(std::count_if(reached.runs.begin(), reached.runs.end(), [&](const auto* run) {
    const auto& hit = *run->to_target;
    return (hit.reached() ? *hit.time > time : hit.budget >= time) && !is_lost_by(*run, time);
  }));
}

bool any_lost(const Reached& reached) { return lost_by(reached, INFINITY) > 0; }

constexpr const char* kStepUnit = "steps";

class SurvivalPanel {
 public:
  SurvivalPanel(const Comparison& c, const PanelGroups& panel, std::shared_ptr<SeriesList> series, std::string unit)
      : title_(panel.title), unit_(std::move(unit)), series_(std::move(series)) {
    for (const auto* group : panel.groups) {
      if (auto reached = reached_of(*group, 1 - c.alpha)) all_.push_back(std::move(*reached));
    }
  }

  bool empty() const { return all_.empty(); }

  std::string draw(const Form& form, const std::string& style) const {
    const FrameText text{"Runs that have reached the target" + (title_.empty() ? "" : ", " + title_), description(),
                         unit_ + (form.log_x ? " (logarithmic)" : ""), "share of runs that have reached the target"};
    FrameRoom room;
    const auto rows = static_cast<double>(all_.size() + (num_with_lost() > 0 ? num_with_lost() + 1 : 0));
    room.below = 24 + 15 * rows;
    room.height = (form.is_wide() ? 300 : 220) + room.below;
    double widest = 0;
    for (const auto& reached : all_) widest = std::max(widest, text_width(name_of(reached)));
    room.least_left = std::min(widest + 32, form.is_wide() ? 170.0 : 120.0);
    room.right = 14;
    Frame frame(form, text, x_axis(form), {0, 1, AxisKind::linear}, room);
    frame.begin_clip();
    for (const auto& reached : all_) draw_curve(frame, reached);
    frame.end_clip();
    draw_risk_table(frame, form);
    return frame.svg.element(style);
  }

 private:
  std::size_t num_with_lost() const { return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), any_lost)); }

  std::string name_of(const Reached& reached) const { return series_->name(series_->index(reached.group->value)); }

  Axis x_axis(const Form& form) const {
    double first = INFINITY, last = 0, budget = 0;
    for (const auto& reached : all_) {
      budget = std::max(budget, reached.curve.follow_up);
      for (const auto& step : reached.curve.steps) {
        if (step.time > 0) first = std::min(first, step.time);
        last = std::max(last, step.time);
      }
    }
    // Where every run got there early, the rest of the budget is a line at 1.
    const bool all_there = std::all_of(all_.begin(), all_.end(),
                                       [](const Reached& r) { return !r.curve.steps.empty() && r.curve.steps.back().unreached == 0; });
    const double end = all_there ? last * 1.04 : budget;
    // Nor has what goes before the first of them to fill half of the picture.
    const double begin = std::isfinite(first) && first > 0.4 * end ? std::min(0.9 * first, first - 0.15 * (end - first)) : 0;
    Axis axis{begin, std::max(end, 1e-9), AxisKind::linear};
    if (form.log_x && std::isfinite(first)) axis = {first / 1.3, std::max(end, first * 2), AxisKind::log10};
    axis.whole = unit_ == kStepUnit;
    return axis;
  }

  void draw_curve(Frame& frame, const Reached& reached) const {
    std::vector<Point> line, upper, lower;
    const auto add = [&](std::vector<Point>& points, double time, double before, double after) {
      points.push_back({frame.x.at(time), frame.y.at(before)});
      points.push_back({frame.x.at(time), frame.y.at(after)});
    };
    double share = 0, high = 0, low = 0;
    line.push_back({frame.x.at(frame.x.low), frame.y.at(0)});
    const std::size_t series = series_->index(reached.group->value);
    frame.svg.open(series_class(series));
    std::string marks;
    for (std::size_t i = 0; i < reached.curve.steps.size(); ++i) {
      const auto& step = reached.curve.steps[i];
      const double next = 1 - step.unreached;
      add(line, step.time, share, next);
      share = next;
      if (const auto& interval = reached.intervals[i]) {
        add(upper, step.time, high, 1 - interval->low);
        add(lower, step.time, low, 1 - interval->high);
        // Reached is 1 − S, so the limits change places.
        high = 1 - interval->low;
        low = 1 - interval->high;
      } else {  // all are there: the interval ends
        upper.push_back({frame.x.at(step.time), frame.y.at(high)});
        lower.push_back({frame.x.at(step.time), frame.y.at(low)});
      }
    }
    const double end = std::min(reached.curve.follow_up, frame.x.high);
    line.push_back({frame.x.at(end), frame.y.at(share)});
    if (share < 1 && !upper.empty()) {
      upper.push_back({frame.x.at(end), frame.y.at(high)});
      lower.push_back({frame.x.at(end), frame.y.at(low)});
    }
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    frame.svg.polygon(upper, "band");
    frame.svg.path(line, "l");
    draw_markers(frame, reached, series);
    for (const auto* run : reached.runs) {
      const double end_of_run = run->to_target->budget;
      if (run->to_target->reached() || run->lost_at || !frame.x.has(end_of_run)) continue;
      frame.svg.line(frame.x.at(end_of_run), frame.y.at(share) - 4, frame.x.at(end_of_run), frame.y.at(share) + 4, "ring");
    }
    draw_losses(frame, reached);
    frame.svg.close();
  }

  void draw_markers(Frame& frame, const Reached& reached, std::size_t series) const {
    const std::size_t count = reached.curve.steps.size();
    for (const auto i : evenly(count, 5)) {
      const auto& step = reached.curve.steps[i];
      frame.svg.marker(
          marker_of(series), frame.x.at(step.time), frame.y.at(1 - step.unreached), 7, false,
          name_of(reached) + ": a share of " + format_significant(1 - step.unreached, 2) + " by " + format_short(step.time) + " " + unit_);
    }
  }

  // A cross for each time at which runs were lost, on the line.
  void draw_losses(Frame& frame, const Reached& reached) const {
    std::map<double, std::size_t> lost;
    for (const auto* run : reached.runs) {
      if (run->lost_at) ++lost[*run->lost_at];
    }
    for (const auto& [time, count] : lost) {
      double share = 0;
      for (const auto& step : reached.curve.steps) {
        if (step.time <= time) share = 1 - step.unreached;
      }
      frame.svg.marker(4, frame.x.at(time), frame.y.at(share), 7, false,
                       name_of(reached) + ": " + std::to_string(count) + " diverged or failed at " + format_short(time) + " " + unit_);
    }
  }

  void draw_risk_table(Frame& frame, const Form& form) const {
    double y = frame.bottom + 54;
    draw_counts(frame, form, "still under way", y, under_way, [](const Reached&) { return true; });
    if (num_with_lost() > 0) draw_counts(frame, form, "diverged or failed", y, lost_by, any_lost);
  }

  // A row per variant of which it holds; `y` is of the heading, and then of what may follow.
  template <class Count, class Holds>
  void draw_counts(Frame& frame, const Form& form, const char* heading, double& y, const Count& count, const Holds& holds) const {
    const auto marks = ticks(frame.x, form.is_wide() ? 9 : 4);
    frame.svg.text(0, y, heading, "q");
    y += 15;
    for (const auto& reached : all_) {
      if (!holds(reached)) continue;
      const std::size_t series = series_->index(reached.group->value);
      frame.svg.open(series_class(series));
      frame.svg.marker(marker_of(series), 5, y - 4, 7);
      frame.svg.text(14, y, fitted_text(name_of(reached), frame.left - 26));
      double free_from = 0;
      for (const auto& tick : marks) {
        const double at = frame.x.at(tick.value);
        if (tick.label.empty() || at < free_from) continue;
        frame.svg.text(at, y, std::to_string(count(reached, tick.value)), "q", Anchor::middle);
        free_from = at + 26;
      }
      frame.svg.close();
      y += 15;
    }
  }

  std::string description() const {
    std::vector<std::string> parts;
    for (const auto& reached : all_) {
      const auto median = stats::median_time(reached.curve);
      parts.push_back(
          name_of(reached) + ": half of the runs " +
          (median ? "by " + format_short(*median) + " " + unit_ : "not within " + format_short(reached.curve.follow_up) + " " + unit_));
    }
    return join(parts, "; ") + ".";
  }

  std::string title_, unit_;
  std::shared_ptr<SeriesList> series_;
  std::vector<Reached> all_;
};

Numbers survival_numbers(const Comparison& c) {
  Numbers out{group_headers(c), {}};
  for (const char* name : {"runs", "reached", "first", "median", "last"}) out.headers.emplace_back(name);
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const auto reached = reached_of(group, 1 - c.alpha);
      if (!reached) continue;
      auto row = group_cells(c, facet, group);
      const auto& steps = reached->curve.steps;
      row.push_back(count_cell(static_cast<double>(reached->runs.size())));
      row.push_back(count_cell(static_cast<double>(group.num_hits)));
      row.push_back(steps.empty() ? Cell{"-"} : number_cell(steps.front().time));
      row.push_back(number_cell(stats::median_time(reached->curve), "not reached"));
      row.push_back(steps.empty() ? Cell{"-"} : number_cell(steps.back().time));
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> survival_figure(const Comparison& c) {
  const auto series = std::make_shared<SeriesList>(c);
  const std::string unit = c.metric == "flops_to_target" ? "FLOPs" : c.metric == "seconds_to_target" ? "seconds" : kStepUnit;
  Figure out;
  out.id = "steps-to-target";
  out.heading = std::string(1, static_cast<char>(std::toupper(unit[0]))) + unit.substr(1) + " to the target";
  out.reading =
      "Each line climbs when runs reach the target: further left is sooner, and where it ends below 1 the rest never got there. "
      "Band: " +
      format_level(1 - c.alpha) +
      " interval (Kaplan–Meier, log(−log)); upright strokes: runs that ended without it; ✕: runs that diverged or failed before they "
      "got there.";
  out.legend = series->legend();
  out.names_lines = true;
  for (const auto& panel : panels_of(c, out.notes)) {
    const auto drawing = std::make_shared<SurvivalPanel>(c, panel, series, unit);
    if (drawing->empty()) continue;
    out.panels.push_back({panel.title, [drawing](const Form& form, const std::string& style) { return drawing->draw(form, style); }});
  }
  if (out.panels.empty()) return std::nullopt;
  out.numbers = survival_numbers(c);
  out.x_switch = true;
  return out;
}

}  // namespace ffn::pictures
