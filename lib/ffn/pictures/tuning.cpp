// What each variant was tuned to: the scores over the grid, the choice ringed, choices at the grid's end marked.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/core/suggest.hpp"
#include "ffn/pictures/charts.hpp"
#include "ffn/pictures/frame.hpp"
#include "ffn/pictures/series.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/tuned.hpp"

namespace ffn::pictures {

namespace {

using TunedPoint = TunedVariant::Point;

std::string value_text(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

/// The axis along which scores are drawn: of the tuned keys the one with the most numbers.
std::optional<std::size_t> axis_of(const TuningResult& tuned) {
  std::optional<std::size_t> best;
  std::size_t most = 1;
  for (std::size_t k = 0; k < tuned.keys.size(); ++k) {
    std::set<std::string> values;
    bool numbers = true;
    for (const auto& point : tuned.variants.at(0).curve) values.insert(value_text(*point.values.at(k))), numbers = numbers && point.values[k]->is_number();
    if (numbers && values.size() > most) best = k, most = values.size();
  }
  return best;
}

/// Variants whose curves stand together, at one value of every other tuned key.
struct TuningPanel {
  std::string title;
  std::vector<std::pair<std::size_t, std::vector<const TunedPoint*>>> curves;  ///< variant → points, ascending
};

std::string rest_of(const TuningResult& tuned, const TunedPoint& point, std::size_t axis) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < tuned.keys.size(); ++k) {
    if (k != axis) parts.push_back(last_segment(tuned.keys[k]) + " " + value_text(*point.values[k]));
  }
  return join(parts);
}

std::vector<TuningPanel> panels_of_tuning(const TuningResult& tuned, std::size_t axis) {
  std::vector<TuningPanel> panels;
  for (std::size_t first = 0; first < tuned.variants.size(); first += kMostInPanel) {
    const std::size_t past = std::min(first + kMostInPanel, tuned.variants.size()), begin = panels.size();
    for (std::size_t v = first; v < past; ++v) {
      for (const auto& point : tuned.variants[v].curve) {
        const std::string title = rest_of(tuned, point, axis);
        auto panel = std::find_if(panels.begin() + static_cast<std::ptrdiff_t>(begin), panels.end(), [&](const TuningPanel& p) { return p.title == title; });
        if (panel == panels.end()) panel = panels.insert(panels.end(), {title, {}});
        if (panel->curves.empty() || panel->curves.back().first != v) panel->curves.push_back({v, {}});
        panel->curves.back().second.push_back(&point);
      }
    }
  }
  for (auto& panel : panels) {
    for (auto& [variant, points] : panel.curves)
      std::stable_sort(points.begin(), points.end(), [&](const auto* a, const auto* b) { return a->values[axis]->template get<double>() < b->values[axis]->template get<double>(); });
  }
  return panels;
}

std::string tip_of(const TuningResult& tuned, const TunedVariant& variant, const TunedPoint& point) {
  std::vector<std::string> values;
  for (std::size_t k = 0; k < tuned.keys.size(); ++k) values.push_back(last_segment(tuned.keys[k]) + " " + value_text(*point.values[k]));
  std::string text = variant.name + " at " + join(values) + ": " + (point.score ? format_significant(*point.score, 3) : "no value");
  if (point.bad > 0) text += ", " + std::to_string(point.bad) + " bad runs";
  if (point.chosen > 0) text += tuned.per_seed ? ", chosen by " + std::to_string(point.chosen) + " seeds" : ", chosen";
  return text;
}

std::string draw_tuning(const TuningResult& tuned, const TuningPanel& panel, std::size_t axis, const Form& form, const std::string& style) {
  std::vector<double> xs, ys;
  bool any_bad = false;
  for (const auto& [v, points] : panel.curves) {
    for (const auto* point : points) {
      xs.push_back(point->values[axis]->get<double>());
      if (point->score) ys.push_back(*point->score);
      any_bad = any_bad || !point->score;
    }
  }
  std::vector<std::string> choices;
  for (const auto& [v, points] : panel.curves) {
    for (const auto* point : points) {
      if (point->chosen > 0) choices.push_back(tip_of(tuned, tuned.variants[v], *point));
    }
  }
  const FrameText text{"Tuning of " + last_segment(tuned.keys[axis]) + (panel.title.empty() ? "" : ", " + panel.title), join(choices, "; ") + ".", last_segment(tuned.keys[axis]),
                       tuned.metric + " of the tuning seeds" + (form.log_y ? " (logarithmic)" : "")};
  FrameRoom room;
  room.height = form.is_wide() ? 320 : 250;
  const auto [least, most] = std::minmax_element(xs.begin(), xs.end());
  if (any_bad) room.above = 18;
  Frame frame(form, text, axis_for(xs, *least > 0 && *most / *least >= 8 ? AxisKind::log10 : AxisKind::linear), axis_for(ys, form.log_y ? AxisKind::log10 : AxisKind::linear), room);
  for (const auto& [v, points] : panel.curves) {
    const auto& variant = tuned.variants[v];
    const bool at_edge = std::find(variant.edge.begin(), variant.edge.end(), tuned.keys[axis]) != variant.edge.end();
    frame.svg.open(series_class(v));
    std::vector<Point> line;
    for (const auto* point : points) {
      if (point->score) line.push_back({frame.x.at(point->values[axis]->get<double>()), frame.y.at(*point->score)});
    }
    frame.svg.path(line, "l");
    for (const auto* point : points) {
      const double x = frame.x.at(point->values[axis]->get<double>()), y = point->score ? frame.y.at(*point->score) : frame.top - 10;
      frame.svg.marker(point->score ? marker_of(v) : 4, x, y, 7, false, tip_of(tuned, variant, *point));
      if (point->chosen == 0 || !point->score) continue;
      frame.svg.raw("<circle class=\"ring\" cx=\"" + px(x) + "\" cy=\"" + px(y) + "\" r=\"" + (tuned.per_seed ? "7" : "9") + "\"/>");
      const bool lowest = x < (frame.left + frame.right) / 2;
      if (at_edge && (point == points.front() || point == points.back()))
        frame.svg.text(lowest ? x + 12 : x - 12, y - 10, lowest ? "← at the edge: widen" : "at the edge: widen →", "b", lowest ? Anchor::start : Anchor::end);
    }
    frame.svg.close();
  }
  return frame.svg.element(style);
}

Numbers tuning_numbers(const TuningResult& tuned) {
  Numbers out{{"variant"}, {}};
  for (const auto& key : tuned.keys) out.headers.push_back(last_segment(key));
  for (const std::string& name : {tuned.metric, std::string("bad runs"), std::string("chosen by seeds")}) out.headers.push_back(name);
  for (const auto& variant : tuned.variants) {
    for (const auto& point : variant.curve) {
      std::vector<Cell> row = {{variant.name}};
      for (const auto& value : point.values) row.push_back({value_text(*value), value->is_number() ? std::optional<double>(value->get<double>()) : std::nullopt});
      row.push_back(number_cell(point.score)), row.push_back(count_cell(static_cast<double>(point.bad))), row.push_back(count_cell(static_cast<double>(point.chosen)));
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> tuning_figure(const Comparison& c) {
  if (!c.tuned || c.tuned->variants.empty() || c.tuned->keys.empty()) return std::nullopt;
  const auto& tuned = *c.tuned;
  const auto axis = axis_of(tuned);
  if (!axis) return std::nullopt;
  Figure out;
  out.id = "tuning", out.heading = "Tuning: " + join(tuned.keys, " and ");
  out.reading = "Each line is a variant's " + tuned.metric + " by " + join(tuned.keys, " and ") + ", the mean of the tuning runs that have it. A ring is " +
                (tuned.per_seed ? "what some seed chose" : "the choice") + ", with an arrow where it stands at the end of what was tried; ✕ above: no run had a value.";
  std::size_t seeds = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) seeds = std::max(seeds, group.num_runs);
  }
  out.notes = tuned_notes(tuned, seeds, c.min_effect);
  if (tuned.variants.size() <= kMostSeriesTogether) {
    for (std::size_t v = 0; v < tuned.variants.size(); ++v) out.legend.push_back({v, tuned.variants[v].name});
  }
  double least = INFINITY, most = 0;
  for (const auto& variant : tuned.variants) {
    for (const auto& point : variant.curve) {
      if (point.score) least = std::min(least, *point.score), most = std::max(most, *point.score);
    }
  }
  out.y_switch = least > 0, out.log_y = least > 0 && most > 20 * least;
  auto panels = panels_of_tuning(tuned, *axis);
  if (panels.size() > kMostPanels) {
    out.notes.push_back("the first " + std::to_string(kMostPanels) + " of " + std::to_string(panels.size()) + " panels are drawn; the table has all");
    panels.resize(kMostPanels);
  }
  for (const auto& panel : panels)
    out.panels.push_back({panel.title, [&tuned, panel, axis](const Form& form, const std::string& style) { return draw_tuning(tuned, panel, *axis, form, style); }});
  out.numbers = tuning_numbers(tuned);
  return out;
}

}  // namespace ffn::pictures
