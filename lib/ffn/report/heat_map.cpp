// The metric over two swept keys: the compared one and the one that makes the facets.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ffn/report/cells.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/series.hpp"
#include "ffn/report/shades.hpp"
#include "ffn/report/svg.hpp"

namespace ffn::pictures {

namespace {

constexpr std::size_t kMostCells = 400, kMostColumns = 24;

struct HeatMap {
  std::string title;
  std::vector<std::string> rows, columns;
  std::map<std::pair<std::string, std::string>, Rank> cells;  ///< row, column → its centre and place; absent: no value, or no run got there
};

void add_once(std::vector<std::string>& values, const std::string& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

std::vector<HeatMap> maps_of(const Comparison& c, const std::string& key, const SeriesList& series) {
  std::vector<HeatMap> maps;
  for (const auto& facet : c.facets) {
    const std::string title = facet_title(c, facet, key);
    auto map = std::find_if(maps.begin(), maps.end(), [&](const HeatMap& m) { return m.title == title; });
    if (map == maps.end()) map = maps.insert(maps.end(), {title, {}, {}, {}});
    add_once(map->columns, shown_value(c, key, facet.keys.at(key)));
    for (const auto& group : facet.groups) {
      const std::string& row = series.name(series.index(group.value));
      add_once(map->rows, row);
      const auto rank = rank_of(group);
      if (rank && std::isfinite(rank->centre) && !rank->is_never(c)) map->cells[{row, shown_value(c, key, facet.keys.at(key))}] = *rank;
    }
  }
  return maps;
}

/// Shades for all maps of a figure: 1 is best.
struct ShadeScale {
  double worst = 0, best = 0;
  bool logarithmic = false;

  ShadeScale(const std::vector<HeatMap>& maps, bool higher_is_better) {
    double low = INFINITY, high = -INFINITY;
    for (const auto& map : maps) {
      for (const auto& [place, value] : map.cells) {
        low = std::min(low, value.centre);
        high = std::max(high, value.centre);
      }
    }
    logarithmic = low > 0 && high > 20 * low;
    worst = higher_is_better ? low : high;
    best = higher_is_better ? high : low;
  }

  double operator()(double value) const {
    if (best == worst) return 0.5;
    if (logarithmic) return (std::log(value) - std::log(worst)) / (std::log(best) - std::log(worst));
    return (value / 2 - worst / 2) / (best / 2 - worst / 2);  // the whole of the largest numbers would be infinite
  }
};

// The best stands at an end of an axis of numbers: beyond it may be better.
std::string edge_note(const HeatMap& map, const std::pair<std::string, std::string>& best, const Comparison& c, const std::string& key) {
  const auto numbers = as_numbers(map.columns);
  if (!numbers || map.columns.size() < 3) return "";
  const auto [least, most] = std::minmax_element(numbers->begin(), numbers->end());
  const double at = *as_number(best.second);
  if (at != *least && at != *most) return "";
  return "the best cell" + (map.title.empty() ? "" : " (" + map.title + ")") + " has the " + (at == *least ? "lowest " : "highest ") +
         shown_key(c, key) + " that was tried: beyond it may be better";
}

std::pair<std::string, std::string> best_of(const HeatMap& map, const Comparison& c) {
  return std::min_element(map.cells.begin(), map.cells.end(),
                          [&](const auto& a, const auto& b) { return ranks_before(c, a.second, b.second); })
      ->first;
}

/// With as many digits as there is room for, three at most: "2.8e-23", "3e-23".
std::string short_number(double value, double width) {
  std::string text;
  for (int digits = 3; digits > 0; --digits) {
    text = format_significant(value, digits);
    if (const auto e = text.find("e-0"); e != std::string::npos) text.erase(e + 2, 1);
    if (text_width(text, 11) <= width) return text;
  }
  return fitted_text(text, width, 11);
}

std::string draw_heat_map(const Comparison& c, const HeatMap& map, const ShadeScale& scale, const std::string& key, const Form& form,
                          const std::string& style) {
  double labels = text_width(shown_key(c, c.by));
  for (const auto& row : map.rows) labels = std::max(labels, text_width(row));
  labels = std::min(labels, form.width * 0.3) + 10;
  const double room = form.width - labels - 2, width = std::min(room / static_cast<double>(map.columns.size()), 110.0), height = 34,
               top = 42;
  const double bottom = top + height * static_cast<double>(map.rows.size());
  const auto best = best_of(map, c);
  Svg svg(form, bottom + 32,
          c.metric + " by " + shown_key(c, c.by) + " and " + shown_key(c, key) + (map.title.empty() ? "" : ", " + map.title),
          "Best: " + best.first + " at " + shown_key(c, key) + " " + best.second + ", " + format_significant(map.cells.at(best).centre, 3) +
              ".");
  const std::string hatch = form.id + "-h";
  svg.raw(
      "<pattern id=\"" + escaped(hatch) +
      "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"gr\" stroke-width=\"3\" d=\"M0 0v6\"/></pattern>");
  svg.text(labels - 8, top - 8, fitted_text(shown_key(c, c.by), labels - 8), "q", Anchor::end);
  svg.text(labels, 12, shown_key(c, key), "q");
  for (std::size_t k = 0; k < map.columns.size(); ++k)
    svg.text(labels + width * (static_cast<double>(k) + 0.5), top - 8, fitted_text(map.columns[k], width), "", Anchor::middle);
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = top + height * static_cast<double>(r);
    svg.text(labels - 8, y + height / 2 + 4, fitted_text(map.rows[r], labels - 8), "", Anchor::end);
    for (std::size_t k = 0; k < map.columns.size(); ++k) {
      const double x = labels + width * static_cast<double>(k);
      const auto cell = map.cells.find({map.rows[r], map.columns[k]});
      if (cell == map.cells.end()) {
        svg.rect(x + 1, y + 1, width - 2, height - 2, "", "fill=\"url(#" + escaped(hatch) + ")\"");
        continue;
      }
      const std::string shade = shade_class(sequential_level(scale(cell->second.centre)));
      const std::string tip =
          map.rows[r] + ", " + shown_key(c, key) + " " + map.columns[k] + ": " + format_significant(cell->second.centre, 4);
      svg.rect(x + 1, y + 1, width - 2, height - 2, shade, "data-tip=\"" + escaped(tip) + "\"");
      svg.text(x + width / 2, y + height / 2 + 4, short_number(cell->second.centre, width - 4), "in " + shade);
      if (cell->first == best) svg.rect(x + 2.5, y + 2.5, width - 5, height - 5, "best");
    }
  }
  const std::string worst = c.metric + " " + format_significant(scale.worst, 3);
  draw_shade_bar(svg, std::max(0.0, std::min(labels, form.width - text_width(worst) - 200)), bottom + 10, sequential_level(0), kShadeLevels,
                 worst, format_significant(scale.best, 3));
  return svg.element(style);
}

Numbers heat_map_numbers(const std::vector<HeatMap>& maps, const Comparison& c, const std::string& key) {
  Numbers out{{"", shown_key(c, c.by), shown_key(c, key), "centre"}, {}};
  for (const auto& map : maps) {
    for (const auto& row : map.rows) {
      for (const auto& column : map.columns) {
        const auto cell = map.cells.find({row, column});
        out.rows.push_back({{map.title},
                            {row},
                            {column},
                            number_cell(cell == map.cells.end() ? std::nullopt : std::optional<double>(cell->second.centre))});
      }
    }
  }
  return out;
}

}  // namespace

std::optional<Figure> heat_map_figure(const Comparison& c) {
  const auto key = widest_facet_key(c, Keys::any);
  if (!key || c.by == "variant" || c.by.rfind("task.", 0) == 0) return std::nullopt;
  const SeriesList series(c);
  auto maps = maps_of(c, *key, series);
  maps.erase(std::remove_if(maps.begin(), maps.end(),
                            [](const HeatMap& m) {
                              return m.cells.empty() || m.rows.size() < 2 || m.columns.size() < 2 ||
                                     m.rows.size() * m.columns.size() > kMostCells || m.columns.size() > kMostColumns;
                            }),
             maps.end());
  if (maps.empty()) return std::nullopt;
  const bool any_missing =
      std::any_of(maps.begin(), maps.end(), [](const HeatMap& m) { return m.cells.size() < m.rows.size() * m.columns.size(); });
  const auto scale = std::make_shared<ShadeScale>(maps, c.higher_is_better);
  Figure out;
  out.id = "heat-map";
  out.heading = c.metric + " by " + shown_key(c, c.by) + " and " + shown_key(c, *key);
  out.reading =
      "Each cell is the " + centre_name(c) + " of its seeds; the stronger the shade, the better" +
      (scale->logarithmic ? " (shades by the logarithm)" : "") + ", and the best cell is outlined" +
      (any_missing ? std::string(is_time_metric(c.metric) ? "; hatched: no run got there." : "; hatched is without a value.") : ".");
  out.numbers = heat_map_numbers(maps, c, *key);
  keep_most_panels(maps, out.notes);
  for (const auto& map : maps) {
    const auto note = edge_note(map, best_of(map, c), c, *key);
    if (!note.empty()) out.notes.push_back(note);
    out.panels.push_back({map.title, [&c, map, scale, key](const Form& form, const std::string& style) {
                            return draw_heat_map(c, map, *scale, *key, form, style);
                          }});
  }
  return out;
}

}  // namespace ffn::pictures
