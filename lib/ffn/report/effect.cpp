// The metric over the levels of a numeric key, such as the expansion: a curve per variant.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"

namespace ffn::pictures {

namespace {

struct Level {
  double x;
  Estimate estimate;
};

struct Line {
  std::size_t series;
  std::string name;
  std::vector<Level> levels;  ///< ascending
};

struct EffectPanel {
  std::string title;
  std::vector<Line> lines;
};

void add_level(Line& line, double x, const Comparison& c, const GroupResult& group) {
  const auto estimate = estimate_of(group, range_of(c.metric));
  if (estimate && std::isfinite(estimate->centre)) line.levels.push_back({x, *estimate});
}

void sort_levels(std::vector<EffectPanel>& panels) {
  for (auto& panel : panels) {
    for (auto& line : panel.lines)
      std::sort(line.levels.begin(), line.levels.end(), [](const Level& a, const Level& b) { return a.x < b.x; });
  }
}

std::vector<EffectPanel> over_facets(const Comparison& c, const std::string& key, const SeriesList& series) {
  std::vector<EffectPanel> panels;
  for (const auto& facet : c.facets) {
    const std::string title = facet_title(c, facet, key);
    auto panel = std::find_if(panels.begin(), panels.end(), [&](const EffectPanel& p) { return p.title == title; });
    if (panel == panels.end()) panel = panels.insert(panels.end(), {title, {}});
    for (const auto& group : facet.groups) {
      const std::size_t index = series.index(group.value);
      auto line = std::find_if(panel->lines.begin(), panel->lines.end(), [&](const Line& l) { return l.series == index; });
      if (line == panel->lines.end()) line = panel->lines.insert(panel->lines.end(), {index, series.name(index), {}});
      add_level(*line, *as_number(facet.keys.at(key)), c, group);
    }
  }
  return panels;
}

std::vector<EffectPanel> over_groups(const Comparison& c) {
  std::vector<EffectPanel> panels;
  for (const auto& facet : c.facets) {
    Line line{0, shown_key(c, c.by), {}};
    for (const auto& group : facet.groups) add_level(line, *as_number(group.value), c, group);
    panels.push_back({facet_title(c, facet), {std::move(line)}});
  }
  return panels;
}

std::string draw_effect(const Comparison& c, const std::string& key, const EffectPanel& panel, const Form& form, const std::string& style) {
  std::vector<double> xs, ys;
  std::set<double> levels;
  for (const auto& line : panel.lines) {
    for (const auto& level : line.levels) {
      xs.push_back(level.x);
      levels.insert(level.x);
      ys.insert(ys.end(), {level.estimate.centre, level.estimate.low, level.estimate.high});
    }
  }
  std::vector<std::string> parts;
  for (const auto& line : panel.lines) {
    if (!line.levels.empty())
      parts.push_back(line.name + " from " + format_significant(line.levels.front().estimate.centre, 3) + " to " +
                      format_significant(line.levels.back().estimate.centre, 3));
  }
  const FrameText text{c.metric + " over " + shown_key(c, key) + (panel.title.empty() ? "" : ", " + panel.title), join(parts, "; ") + ".",
                       shown_key(c, key), c.metric + (form.log_y ? " (logarithmic)" : "")};
  FrameRoom room;
  room.height = form.is_wide() ? 320 : 250;
  double widest = 0;
  for (const auto& line : panel.lines) widest = std::max(widest, text_width(line.name));
  room.right = form.is_wide() && panel.lines.size() > 1 ? std::min(widest, 160.0) + 24 : 14;
  const auto x_axis = axis_for(xs, kind_for_levels({levels.begin(), levels.end()}));
  Frame frame(form, text, x_axis, axis_for(ys, form.log_y ? AxisKind::log10 : AxisKind::linear), room);
  const double apart = 4, first = -apart * static_cast<double>(panel.lines.size() - 1) / 2;
  std::vector<double> ends;
  for (std::size_t i = 0; i < panel.lines.size(); ++i) {
    const auto& line = panel.lines[i];
    const double dodge = first + apart * static_cast<double>(i);
    frame.svg.open(series_class(line.series));
    std::vector<Point> points;
    for (const auto& level : line.levels) points.push_back({frame.x.at(level.x) + dodge, frame.y.at(level.estimate.centre)});
    frame.svg.path(points, "l");
    for (std::size_t k = 0; k < points.size(); ++k) {
      const auto& e = line.levels[k].estimate;
      const double x = points[k].x, low = frame.y.at(e.low), high = frame.y.at(e.high);
      frame.svg.line(x, low, x, high, "t");
      for (const double y : {low, high}) frame.svg.line(x - 3, y, x + 3, y, "t");
      frame.svg.marker(
          marker_of(line.series), x, points[k].y, 8, false,
          line.name + " at " + shown_key(c, key) + " " + tick_label(line.levels[k].x) + ": " + estimate_text(e.centre, e.low, e.high));
    }
    frame.svg.close();
    ends.push_back(points.empty() ? frame.bottom : points.back().y + 4);
  }
  if (form.is_wide() && panel.lines.size() > 1) {
    const auto placed = spread_labels(ends, 14, frame.top + 6, frame.bottom);
    for (std::size_t i = 0; i < panel.lines.size(); ++i) {
      const auto& line = panel.lines[i];
      frame.svg.open(series_class(line.series));
      frame.svg.marker(marker_of(line.series), frame.right + 8, placed[i] - 4, 7);
      frame.svg.text(frame.right + 16, placed[i], fitted_text(line.name, 150));
      frame.svg.close();
    }
  }
  return frame.svg.element(style);
}

Numbers effect_numbers(const std::vector<EffectPanel>& panels, const Comparison& c, const std::string& key) {
  Numbers out{{"", shown_key(c, c.by), shown_key(c, key), "centre", "low", "high"}, {}};
  for (const auto& panel : panels) {
    for (const auto& line : panel.lines) {
      for (const auto& level : line.levels)
        out.rows.push_back({{panel.title},
                            {line.name},
                            {number_text(level.x), level.x},
                            number_cell(level.estimate.centre),
                            number_cell(level.estimate.low),
                            number_cell(level.estimate.high)});
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> effect_figure(const Comparison& c) {
  const auto series = std::make_shared<SeriesList>(c);
  const auto facet_key = widest_facet_key(c, Keys::numeric);
  const bool numeric_by = series->size() > 2 && as_numbers(series->values());
  if (!facet_key && !numeric_by) return std::nullopt;
  const std::string key = facet_key ? *facet_key : c.by;
  auto panels = facet_key ? over_facets(c, key, *series) : over_groups(c);
  sort_levels(panels);
  panels.erase(std::remove_if(panels.begin(), panels.end(),
                              [](const EffectPanel& p) {
                                return std::none_of(p.lines.begin(), p.lines.end(),
                                                    [](const Line& line) { return line.levels.size() > 1; });
                              }),
               panels.end());
  if (panels.empty() || series->size() > kMostSeriesTogether) return std::nullopt;
  Figure out;
  out.id = "effect-" + slug(shown_key(c, key));
  out.heading = "Effect of " + shown_key(c, key) + " on " + c.metric;
  out.reading = "Marks: the " + estimate_name(c) + " at each value of " + shown_key(c, key) +
                ", a little apart sideways so that they can be told; lines join neighbours. " + (c.higher_is_better ? "Higher" : "Lower") +
                " is better.";
  if (facet_key) {
    out.legend = series->legend();
    out.names_lines = true;
  }
  out.numbers = effect_numbers(panels, c, key);
  keep_most_panels(panels, out.notes);
  bool positive = true;
  for (const auto& panel : panels) {
    for (const auto& line : panel.lines) {
      for (const auto& level : line.levels) positive = positive && level.estimate.centre > 0;
    }
  }
  out.y_switch = positive;
  out.log_y = positive && c.as_ratios;
  for (auto& panel : panels)
    out.panels.push_back(
        {panel.title, [&c, key, panel](const Form& form, const std::string& style) { return draw_effect(c, key, panel, form, style); }});
  return out;
}

}  // namespace ffn::pictures
