// Surfaces as pictures: planes of three seeds beside each other, curves of three seeds over each other.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "ffn/base/suggest.hpp"
#include "ffn/inspect/surface.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/frame.hpp"

namespace ffn::inspect {

using pictures::Axis;
using pictures::Figure;
using pictures::fitted_text;
using pictures::Form;
using pictures::Frame;
using pictures::Svg;

namespace {

constexpr int kLevels = 8;
constexpr double kStrongest = 0.56;  // opacity: what lies on top is still seen
constexpr double kLeastCell = 1.5;   // pixels

// A path per kind and level, in cells: strokes as high as a row, through as many cells as are alike.
void draw_cells(Svg& svg, const Surface& s, double left, double top, double size) {
  std::vector<std::string> paths(s.kinds.size() * (kLevels + 1));
  // Rows thinner than a pixel would lie on each other.
  const std::int64_t side = std::min(s.side, static_cast<std::int64_t>(size / kLeastCell));
  const auto place_of = [&](std::int64_t column, std::int64_t row) {
    const auto cell = s.cell((2 * column + 1) * s.side / (2 * side), (2 * row + 1) * s.side / (2 * side));
    return cell.kind < 0 ? 0 : static_cast<std::size_t>(cell.kind * (kLevels + 1) + std::lround(cell.strength * kLevels));
  };
  for (std::int64_t row = 0; row < side; ++row) {
    for (std::int64_t column = 0, end = 0; column < side; column = end) {
      const auto place = place_of(column, row);
      while (end < side && place_of(end, row) == place) ++end;
      if (place % (kLevels + 1) != 0)
        paths[place] += "M" + std::to_string(column) + " " + std::to_string(side - 1 - row) + ".5h" + std::to_string(end - column);
    }
  }
  char transform[128];
  const double scale = size / static_cast<double>(side);
  std::snprintf(transform, sizeof transform, "transform=\"translate(%.1f %.1f)scale(%.4f)\" shape-rendering=\"crispEdges\"", left, top,
                scale);
  svg.open("cells", transform);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty()) continue;
    char opacity[8];
    std::snprintf(opacity, sizeof opacity, "%.2f", kStrongest * static_cast<double>(i % (kLevels + 1)) / kLevels);
    svg.raw("<path class=\"" + pictures::series_class(i / (kLevels + 1)) + "\" stroke=\"currentColor\" opacity=\"" + opacity + "\" d=\"" +
            paths[i] + "\"/>");
  }
  svg.close();
}

void draw_plane(Svg& svg, const Surface& s, double left, double top, double size) {
  const Axis x{s.low[0], s.high[0], pictures::AxisKind::linear, left, left + size},
      y{s.low[1], s.high[1], pictures::AxisKind::linear, top + size, top};
  draw_cells(svg, s, left, top, size);
  svg.rect(left, top, size, size, "ax", "style=\"stroke-width:1\"");
  for (const auto& line : s.zeros) {
    if (line.size() == 2) svg.line(x.at(line[0][0]), y.at(line[0][1]), x.at(line[1][0]), y.at(line[1][1]), "pair");
  }
  for (const auto& e : s.examples) {
    if (!x.has(e.x) || !y.has(e.y)) continue;
    const auto series = static_cast<std::size_t>(e.kind);
    svg.open(pictures::series_class(series));
    svg.marker(pictures::marker_of(series), x.at(e.x), y.at(e.y), size > 200 ? 5 : 3.2, !e.trained);
    svg.close();
  }
}

std::string draw_planes(const SurfacePanel& panel, const Form& form, const std::string& style) {
  constexpr double kGap = 10, kLeft = 34, kTop = 36, kLargest = 320;
  const auto count = static_cast<double>(panel.surfaces.size());
  const double size = std::min(kLargest, (form.width - kLeft - kGap * (count - 1)) / count);
  const Surface& first = panel.surfaces[0];
  Svg svg(form, kTop + size + 40, "Network over " + join(first.names, " and ") + (panel.title.empty() ? "" : ", " + panel.title),
          format_counted(panel.surfaces.size(), "plane") + ": " + join(panel.names) + ".");
  for (std::size_t i = 0; i < panel.surfaces.size(); ++i) {
    const double left = kLeft + (size + kGap) * static_cast<double>(i);
    draw_plane(svg, panel.surfaces[i], left, kTop, size);
    svg.text(left + size / 2, kTop - 6, fitted_text(panel.names[i], size), "q", pictures::Anchor::middle);
    const Axis x{first.low[0], first.high[0], pictures::AxisKind::linear, left, left + size};
    for (const auto& tick : pictures::ticks(x, size > 200 ? 5 : 3))
      svg.text(x.at(tick.value), kTop + size + 14, tick.label, "q", pictures::Anchor::middle);
  }
  const Axis y{first.low[1], first.high[1], pictures::AxisKind::linear, kTop + size, kTop};
  for (const auto& tick : pictures::ticks(y, size > 200 ? 5 : 3))
    svg.text(kLeft - 5, y.at(tick.value) + 4, tick.label, "q", pictures::Anchor::end);
  const double right = kLeft + count * (size + kGap) - kGap;
  svg.text(0, 12, fitted_text(first.names[1], form.width), "q");
  svg.text(right, kTop + size + 32, fitted_text(first.names[0], right), "q", pictures::Anchor::end);
  return svg.element(style);
}

std::string draw_curves(const SurfacePanel& panel, const Form& form, const std::string& style) {
  const Surface& first = panel.surfaces[0];
  std::vector<double> heights;
  for (const auto& e : first.examples) heights.push_back(e.y);
  for (const auto& s : panel.surfaces) heights.insert(heights.end(), s.values.begin(), s.values.end());
  Frame frame(form,
              {"Network over " + first.names[0] + (panel.title.empty() ? "" : ", " + panel.title),
               "A line per seed: " + join(panel.names) + ".", first.names[0], "target"},
              {first.low[0], first.high[0]}, pictures::axis_for(heights, pictures::AxisKind::linear));
  frame.begin_clip();
  for (const auto& e : first.examples) {
    frame.svg.open(pictures::series_class(4));
    frame.svg.marker(0, frame.x.at(e.x), frame.y.at(e.y), 4, !e.trained);
    frame.svg.close();
  }
  for (std::size_t i = 0; i < panel.surfaces.size(); ++i) {
    const auto& s = panel.surfaces[i];
    std::vector<pictures::Point> points;
    for (std::int64_t k = 0; k < s.side; ++k) points.push_back({frame.x.at(s.at(0, k)), frame.y.at(s.values[static_cast<std::size_t>(k)])});
    frame.svg.open(pictures::series_class(i));
    frame.svg.path(points, "l");
    for (const auto& zero : s.zeros) frame.svg.line(frame.x.at(zero[0][0]), frame.bottom - 7, frame.x.at(zero[0][0]), frame.bottom, "t");
    frame.svg.close();
  }
  frame.end_clip();
  return frame.svg.element(style);
}

// How much of a plane each kind has.
void add_shares(pictures::Numbers& numbers, const std::string& title, const std::string& name, const Surface& s) {
  std::map<std::int64_t, double> places;
  for (std::int64_t i = 0; i < s.side * s.side; ++i) ++places[s.cell(i % s.side, i / s.side).kind];
  for (const auto& [kind, count] : places) {
    if (kind >= 0)
      numbers.rows.push_back({{title},
                              {name},
                              {s.kinds[static_cast<std::size_t>(kind)]},
                              pictures::number_cell(count / static_cast<double>(s.side * s.side))});
  }
}

void add_heights(pictures::Numbers& numbers, const std::string& title, const std::string& name, const Surface& s) {
  constexpr std::int64_t kPlaces = 9;
  for (std::int64_t i = 0; i < kPlaces; ++i) {
    const std::int64_t at = (2 * i + 1) * s.side / (2 * kPlaces);
    numbers.rows.push_back(
        {{title}, {name}, pictures::number_cell(s.at(0, at)), pictures::number_cell(s.values[static_cast<std::size_t>(at)])});
  }
}

std::optional<Figure> figure_of(Surface::Kind kind, const std::vector<SurfacePanel>& panels) {
  const bool curve = kind == Surface::Kind::curve, classes = kind == Surface::Kind::classes;
  Figure out;
  bool zeros = false;
  std::string names;
  std::size_t seeds = 0;  // the most in a panel
  for (const auto& panel : panels) {
    if (panel.surfaces[0].kind != kind) continue;
    seeds = std::max(seeds, panel.surfaces.size());
    for (std::size_t i = 0; i < panel.surfaces.size(); ++i) {
      const auto& s = panel.surfaces[i];
      for (std::size_t k = out.legend.size(); !curve && k < s.kinds.size(); ++k) out.legend.push_back({k, s.kinds[k]});
      zeros = zeros || !s.zeros.empty();
      if (curve && i >= out.legend.size()) out.legend.push_back({i, panel.names[i]});
      (curve ? add_heights : add_shares)(out.numbers, panel.title, panel.names[i], s);
    }
    names = join(panel.surfaces[0].names, " and ");
    out.panels.push_back({panel.title, [panel](const Form& form, const std::string& style) {
                            return (panel.surfaces[0].kind == Surface::Kind::curve ? draw_curves : draw_planes)(panel, form, style);
                          }});
  }
  if (out.panels.empty()) return std::nullopt;
  out.id = curve ? "fitted-curve" : classes ? "decision-regions" : "output-plane";
  out.heading = (curve ? "Fitted curve over " : classes ? "Decision regions over " : "Output over ") + names;
  const std::string points = " Filled points are training examples, hollow points validation examples";
  if (seeds > 1)
    out.reading =
        std::string(curve ? "A line" : "A square") + " for each of the first " + std::to_string(seeds) + " seeds that left weights. ";
  if (curve) {
    out.reading += points.substr(1) + (seeds > 1 ? " of the first seed." : ".");
    out.numbers.headers = {"", "", names, "output"};
  } else {
    out.reading += (classes ? "The colour is the predicted class, the stronger the more probable."
                            : "The colour is the sign of the output, the stronger the further from 0.") +
                   points + (classes ? ", in the colour of their class." : ", in the colour of their target's sign.");
    out.numbers.headers = {"", "", "", "share of the plane"};
  }
  if (zeros)
    out.reading +=
        std::string(curve ? " Strokes on the axis" : " Thin lines") + " mark where a hidden unit of the first layer changes sign.";
  return out;
}

}  // namespace

std::vector<Figure> figures_of(const std::vector<SurfacePanel>& panels) {
  std::vector<Figure> out;
  for (const auto kind : {Surface::Kind::classes, Surface::Kind::numbers, Surface::Kind::curve}) {
    if (auto figure = figure_of(kind, panels)) out.push_back(std::move(*figure));
  }
  return out;
}

}  // namespace ffn::inspect
