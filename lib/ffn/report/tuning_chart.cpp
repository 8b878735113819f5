// What each variant was tuned to: the scores over the grid, the choice ringed, choices at the grid's end marked.
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/suggest.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"
#include "ffn/report/series.hpp"
#include "ffn/report/tuned.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::pictures {

namespace {

using TunedPoint = TunedVariant::Point;

std::string tick_text(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

/// The axis along which scores are drawn: of the tuned keys the one with the most numbers.
std::optional<std::size_t> axis_of(const TuningResult& tuned) {
  std::optional<std::size_t> best;
  std::size_t most = 1;
  for (std::size_t k = 0; k < tuned.keys.size(); ++k) {
    std::set<std::string> values;
    bool numbers = true;
    for (const auto& point : tuned.variants.at(0).curve) {
      values.insert(tick_text(*point.values.at(k)));
      numbers = numbers && point.values[k]->is_number();
    }
    if (numbers && values.size() > most) {
      best = k;
      most = values.size();
    }
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
    if (k != axis) parts.push_back(short_name(tuned.keys[k], tuned.keys) + " " + tick_text(*point.values[k]));
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
        auto panel = std::find_if(panels.begin() + static_cast<std::ptrdiff_t>(begin), panels.end(),
                                  [&](const TuningPanel& p) { return p.title == title; });
        if (panel == panels.end()) panel = panels.insert(panels.end(), {title, {}});
        if (panel->curves.empty() || panel->curves.back().first != v) panel->curves.push_back({v, {}});
        panel->curves.back().second.push_back(&point);
      }
    }
  }
  for (auto& panel : panels) {
    for (auto& [variant, points] : panel.curves)
      std::stable_sort(points.begin(), points.end(), [&](const auto* a, const auto* b) {
        return a->values[axis]->template get<double>() < b->values[axis]->template get<double>();
      });
  }
  return panels;
}

/// A point as it is drawn: as the choice sees it, which is by logarithms where a loss is positive; the plain mean where a study of earlier
/// versions has no more.
struct Drawn {
  double centre, low, high;
  bool has_interval() const { return low < high; }
};

std::optional<Drawn> drawn_point(const TunedVariant& variant, const TunedPoint& point, double alpha) {
  if (!point.score) return std::nullopt;
  if (!point.judged) return Drawn{*point.score, *point.score, *point.score};
  stats::Interval interval{*point.judged, *point.judged, 1 - alpha};
  if (point.standard_error && point.measured > 1)
    interval = stats::t_interval(*point.judged, *point.standard_error, point.measured, 1 - alpha);
  if (!variant.logarithms) return Drawn{*point.judged, interval.low, interval.high};
  return Drawn{std::exp(*point.judged), std::exp(interval.low), std::exp(interval.high)};
}

std::string tip_of(const TuningResult& tuned, const TunedVariant& variant, const TunedPoint& point, double alpha) {
  const auto at = drawn_point(variant, point, alpha);
  std::vector<std::string> values;
  for (std::size_t k = 0; k < tuned.keys.size(); ++k)
    values.push_back(short_name(tuned.keys[k], tuned.keys) + " " + tick_text(*point.values[k]));
  std::string text = variant.name + " at " + join(values) + ": " + (at ? estimate_text(at->centre, at->low, at->high) : "no value");
  if (point.bad > 0) text += ", " + std::to_string(point.bad) + " bad runs";
  if (point.chosen > 0) text += tuned.per_seed ? ", chosen by " + std::to_string(point.chosen) + " seeds" : ", chosen";
  return text;
}

/// All centres, and the ends of their intervals, but for those that are wider than all centres are apart: they would press the rest flat.
Axis score_axis(const TuningResult& tuned, const TuningPanel& panel, AxisKind kind, double alpha) {
  const auto place = [&](double x) { return kind == AxisKind::linear ? x : std::log(x); };  // of what is not positive none
  std::vector<Drawn> points;
  std::vector<double> shown;
  for (const auto& [v, of] : panel.curves) {
    for (const auto* point : of) {
      if (const auto at = drawn_point(tuned.variants[v], *point, alpha)) {
        points.push_back(*at);
        shown.push_back(at->centre);
      }
    }
  }
  if (shown.empty()) return axis_for({}, kind);
  const auto [least, most] = std::minmax_element(shown.begin(), shown.end());
  const double apart = place(*most) - place(*least);
  for (const auto& at : points) {
    if (place(at.high) - place(at.low) <= apart) shown.insert(shown.end(), {at.low, at.high});
  }
  return axis_for(shown, kind);
}

void draw_tuning_band(Frame& frame, const TunedVariant& variant, const std::vector<const TunedPoint*>& points, std::size_t axis,
                      double alpha) {
  std::vector<Point> upper, lower;
  const auto finish = [&] {
    upper.insert(upper.end(), lower.rbegin(), lower.rend());
    frame.svg.polygon(upper, "band");
    upper.clear();
    lower.clear();
  };
  for (const auto* point : points) {
    const auto at = drawn_point(variant, *point, alpha);
    if (!at || !at->has_interval()) {
      finish();
      continue;
    }
    const double x = frame.x.at(point->values[axis]->get<double>());
    upper.push_back({x, frame.y.at(at->high)});
    lower.push_back({x, frame.y.at(at->low)});
  }
  finish();
}

std::string draw_tuning(const TuningResult& tuned, const TuningPanel& panel, std::size_t axis, double alpha, const Form& form,
                        const std::string& style) {
  std::vector<double> xs;
  bool any_bad = false;
  for (const auto& [v, points] : panel.curves) {
    for (const auto* point : points) {
      xs.push_back(point->values[axis]->get<double>());
      any_bad = any_bad || !point->score;
    }
  }
  std::vector<std::string> choices;
  for (const auto& [v, points] : panel.curves) {
    for (const auto* point : points) {
      if (point->chosen > 0) choices.push_back(tip_of(tuned, tuned.variants[v], *point, alpha));
    }
  }
  const FrameText text{"Tuning of " + short_name(tuned.keys[axis], tuned.keys) + (panel.title.empty() ? "" : ", " + panel.title),
                       join(choices, "; ") + ".", short_name(tuned.keys[axis], tuned.keys),
                       tuned.metric + " of the tuning seeds" + (form.log_y ? " (logarithmic)" : "")};
  FrameRoom room;
  room.height = form.is_wide() ? 320 : 250;
  const auto [least, most] = std::minmax_element(xs.begin(), xs.end());
  if (any_bad) room.above = 18;
  Frame frame(form, text, axis_for(xs, *least > 0 && *most / *least >= 8 ? AxisKind::log10 : AxisKind::linear),
              score_axis(tuned, panel, form.log_y ? AxisKind::log10 : AxisKind::linear, alpha), room);
  for (const auto& [v, points] : panel.curves) {  // below all lines
    frame.svg.open(series_class(v));
    draw_tuning_band(frame, tuned.variants[v], points, axis, alpha);
    frame.svg.close();
  }
  for (const auto& [v, points] : panel.curves) {
    const auto& variant = tuned.variants[v];
    const bool at_edge = std::find(variant.edge.begin(), variant.edge.end(), tuned.keys[axis]) != variant.edge.end();
    frame.svg.open(series_class(v));
    std::vector<Point> line;
    for (const auto* point : points) {
      if (const auto at = drawn_point(variant, *point, alpha))
        line.push_back({frame.x.at(point->values[axis]->get<double>()), frame.y.at(at->centre)});
    }
    frame.svg.path(line, "l");
    for (const auto* point : points) {
      const auto at = drawn_point(variant, *point, alpha);
      const double x = frame.x.at(point->values[axis]->get<double>()), y = at ? frame.y.at(at->centre) : frame.top - 10;
      frame.svg.marker(point->score ? marker_of(v) : 4, x, y, 7, false, tip_of(tuned, variant, *point, alpha));
      if (point->chosen == 0 || !point->score) continue;
      frame.svg.raw("<circle class=\"ring\" cx=\"" + px(x) + "\" cy=\"" + px(y) + "\" r=\"" + (tuned.per_seed ? "7" : "9") + "\"/>");
      const bool lowest = x < (frame.left + frame.right) / 2;
      if (at_edge && (point == points.front() || point == points.back()))
        frame.svg.text(lowest ? x + 12 : x - 12, y - 10, lowest ? "← at the edge: widen" : "at the edge: widen →", "b",
                       lowest ? Anchor::start : Anchor::end);
    }
    frame.svg.close();
  }
  return frame.svg.element(style);
}

Numbers tuning_numbers(const TuningResult& tuned, double alpha) {
  Numbers out{{"variant"}, {}};
  for (const auto& key : tuned.keys) out.headers.push_back(short_name(key, tuned.keys));
  for (const std::string& name : {tuned.metric, std::string("centre"), std::string("low"), std::string("high"), std::string("bad runs"),
                                  std::string("chosen by seeds")})
    out.headers.push_back(name);
  for (const auto& variant : tuned.variants) {
    for (const auto& point : variant.curve) {
      std::vector<Cell> row = {{variant.name}};
      for (const auto& value : point.values)
        row.push_back({tick_text(*value), value->is_number() ? std::optional<double>(value->get<double>()) : std::nullopt});
      row.push_back(number_cell(point.score));
      const auto at = drawn_point(variant, point, alpha);
      row.push_back(at ? number_cell(at->centre) : Cell{"-"});
      for (const auto end : {&Drawn::low, &Drawn::high}) row.push_back(at && at->has_interval() ? number_cell((*at).*end) : Cell{"-"});
      row.push_back(count_cell(static_cast<double>(point.bad)));
      row.push_back(count_cell(static_cast<double>(point.chosen)));
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

std::string centre_of(const TuningResult& tuned) {
  const auto with =
      std::count_if(tuned.variants.begin(), tuned.variants.end(), [](const TunedVariant& variant) { return variant.logarithms; });
  return with == 0                                                    ? "mean"
         : with == static_cast<std::ptrdiff_t>(tuned.variants.size()) ? "geometric mean"
                                                                      : "mean, geometric where all values are positive,";
}

bool any_interval(const TuningResult& tuned, double alpha) {
  return std::any_of(tuned.variants.begin(), tuned.variants.end(), [&](const TunedVariant& variant) {
    return std::any_of(variant.curve.begin(), variant.curve.end(), [&](const TunedPoint& point) {
      const auto at = drawn_point(variant, point, alpha);
      return at && at->has_interval();
    });
  });
}

}  // namespace

std::optional<Figure> tuning_figure(const Comparison& c) {
  if (!c.tuned || c.tuned->variants.empty() || c.tuned->keys.empty()) return std::nullopt;
  const auto& tuned = *c.tuned;
  const auto axis = axis_of(tuned);
  if (!axis) return std::nullopt;
  Figure out;
  out.id = "tuning";
  out.heading = "Tuning: " + join(tuned.keys, " and ");
  out.reading = "Each line is a variant's " + tuned.metric + " by " + join(tuned.keys, " and ") + ": the " + centre_of(tuned) +
                " of the tuning runs that have it" +
                (tuned.by_ranks ? "; the choice is made by mean ranks, since a value has no logarithm" : ", by which the choice is made") +
                (any_interval(tuned, c.alpha)
                     ? ", with its " + format_level(1 - c.alpha) + " interval (Student's t) as a band that may leave the picture"
                     : std::string()) +
                ". A ring is " + (tuned.per_seed ? "what some seed chose" : "the choice") +
                ", with an arrow where it stands at the end of what was tried; ✕ above: no run had a value.";
  if (tuned.variants.size() <= kMostSeriesTogether) {
    for (std::size_t v = 0; v < tuned.variants.size(); ++v) out.legend.push_back({v, tuned.variants[v].name});
  }
  double least = INFINITY, most = 0;
  for (const auto& variant : tuned.variants) {
    for (const auto& point : variant.curve) {
      if (const auto at = drawn_point(variant, point, c.alpha)) {
        least = std::min(least, at->centre);
        most = std::max(most, at->centre);
      }
    }
  }
  out.y_switch = least > 0;
  out.log_y = least > 0 && most > 20 * least;
  auto panels = panels_of_tuning(tuned, *axis);
  keep_most_panels(panels, out.notes);
  for (const auto& panel : panels)
    out.panels.push_back({panel.title, [&tuned, panel, axis, alpha = c.alpha](const Form& form, const std::string& style) {
                            return draw_tuning(tuned, panel, *axis, alpha, form, style);
                          }});
  out.numbers = tuning_numbers(tuned, c.alpha);
  return out;
}

}  // namespace ffn::pictures
