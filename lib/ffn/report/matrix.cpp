#include "ffn/report/matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "ffn/report/format.hpp"
#include "ffn/report/shades.hpp"
#include "ffn/report/svg.hpp"

namespace ffn::pictures {

namespace {

constexpr std::size_t kMostWithTips = 1200;  // a tooltip for each makes pages large

struct Grid {
  double left, top, width, height;  ///< of a cell the last two
};

double peak_of(const MatrixPicture& matrix) {
  double peak = matrix.peak;
  for (const double x : matrix.values) {
    if (matrix.peak == 0 && std::isfinite(x)) peak = std::max(peak, std::abs(x));
  }
  return peak > 0 ? peak : 1;
}

std::string cell_text(double value) { return value == 0 ? "0" : format_significant(value, 2); }

std::string rounded_text(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value));
  return value == 0 ? "0" : (value < 0 ? "−" : "") + std::string(text);
}

/// What stands in the cells, in the first of the notations that has room in all of them; none where none has. Two digits that count,
/// then two decimals, as in the terminal, then one: 0 alone is exactly 0.
std::vector<std::string> cell_texts(const MatrixPicture& m, double width) {
  constexpr double kFont = 11, kLeastCell = 30, kBetween = 4;
  if (width < kLeastCell) return {};
  const auto two_decimals = [](double x) { return std::abs(x) < 0.1 ? rounded_text(x, 2) : cell_text(x); };
  const auto one_decimal = [](double x) { return std::abs(x) < 10 ? rounded_text(x, 1) : cell_text(x); };
  for (const auto& notation : {std::function<std::string(double)>(cell_text), std::function<std::string(double)>(two_decimals),
                               std::function<std::string(double)>(one_decimal)}) {
    std::vector<std::string> texts;
    for (const double x : m.values) texts.push_back(std::isfinite(x) ? notation(x) : "");
    const auto fits = [&](const std::string& text) { return measured_width(text, kFont) + kBetween <= width; };
    if (std::all_of(texts.begin(), texts.end(), fits)) return texts;
  }
  return {};
}

std::string name_or_index(const std::vector<std::string>& names, std::size_t index) {
  return index < names.size() ? names[index] : std::to_string(index);
}

void draw_names(Svg& svg, const MatrixPicture& m, const Grid& grid, double width) {
  const double right = grid.left + grid.width * static_cast<double>(m.num_columns);
  if (!m.column_label.empty()) svg.text(grid.left, 12, fitted_text(m.column_label, width - grid.left), "q");
  if (!m.row_label.empty() && m.rows.empty()) svg.text(0, grid.top - 5, fitted_text(m.row_label, right), "q");
  double free_from = 0;
  for (std::size_t k = 0; k < m.columns.size(); ++k) {
    const double middle = grid.left + grid.width * (static_cast<double>(k) + 0.5), half = text_width(m.columns[k]) / 2;
    if (middle - half < free_from) continue;
    svg.text(middle, grid.top - 5, m.columns[k], "", Anchor::middle);
    free_from = middle + half + 8;
  }
  free_from = 0;
  for (std::size_t r = 0; r < m.rows.size(); ++r) {
    const double y = grid.top + grid.height * (static_cast<double>(r) + 0.5);
    if (y - 6 < free_from) continue;
    svg.text(grid.left - 6, y + 4, fitted_text(m.rows[r], grid.left - 6), "", Anchor::end);
    free_from = y + 7;
  }
}

void draw_cells_one_by_one(Svg& svg, const MatrixPicture& m, const Grid& grid, double peak, const std::string& hatch) {
  const auto texts = grid.height < 16 ? std::vector<std::string>() : cell_texts(m, grid.width);
  const double gap = std::min(grid.width, grid.height) > 8 ? 1 : 0;
  for (std::size_t r = 0; r < m.num_rows; ++r) {
    for (std::size_t k = 0; k < m.num_columns; ++k) {
      const double x = grid.left + grid.width * static_cast<double>(k), y = grid.top + grid.height * static_cast<double>(r),
                   value = m.values[r * m.num_columns + k];
      const std::string place =
          name_or_index(m.rows, r) + ", " + (m.columns.empty() ? m.column_label + " " : "") + name_or_index(m.columns, k) + ": ";
      if (!std::isfinite(value)) {
        svg.rect(x, y, grid.width - gap, grid.height - gap, "",
                 "fill=\"url(#" + hatch + ")\" data-tip=\"" + escaped(place + "none") + "\"");
        continue;
      }
      const std::string shade = shade_class(signed_level(value / peak));
      svg.rect(x, y, grid.width - gap, grid.height - gap, shade, "data-tip=\"" + escaped(place + cell_text(value)) + "\"");
      if (!texts.empty()) svg.text(x + grid.width / 2, y + grid.height / 2 + 4, texts[r * m.num_columns + k], "in " + shade);
    }
  }
}

// A path per shade, in cells: strokes as high as a row, through as many cells as have the shade. A third of the bytes of rectangles.
void draw_cells_by_shade(Svg& svg, const MatrixPicture& m, const Grid& grid, double peak) {
  std::array<std::string, 2 * kShadeLevels + 1> paths;
  std::array<std::pair<std::size_t, std::size_t>, 2 * kShadeLevels + 1> ends{};  // row and column
  const auto level = [&](std::size_t r, std::size_t k) {
    const double value = m.values[r * m.num_columns + k];
    return std::isfinite(value) ? signed_level(value / peak) : 0;
  };
  for (std::size_t r = 0; r < m.num_rows; ++r) {
    for (std::size_t k = 0; k < m.num_columns;) {
      const int here = level(r, k);
      std::size_t end = k + 1;
      while (end < m.num_columns && level(r, end) == here) ++end;
      if (here != 0) {
        const auto shade = static_cast<std::size_t>(here + kShadeLevels);
        auto& path = paths[shade];
        auto& [row, column] = ends[shade];
        if (!path.empty() && row == r) path += "m" + std::to_string(k - column) + " 0";
        else path += "M" + std::to_string(k) + " " + std::to_string(r) + ".5";
        path += "h" + std::to_string(end - k);
        row = r;
        column = end;
      }
      k = end;
    }
  }
  svg.rect(grid.left, grid.top, grid.width * static_cast<double>(m.num_columns), grid.height * static_cast<double>(m.num_rows),
           shade_class(0));
  char scale[64];  // to a tenth of a pixel over a thousand cells
  std::snprintf(scale, sizeof scale, "%.4f %.4f", grid.width, grid.height);
  svg.open("cells", "transform=\"translate(" + px(grid.left) + " " + px(grid.top) + ")scale(" + scale + ")\"");
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!paths[i].empty()) svg.raw("<path class=\"" + shade_class(static_cast<int>(i) - kShadeLevels) + "\" d=\"" + paths[i] + "\"/>");
  }
  svg.close();
}

}  // namespace

std::string draw_matrix(const MatrixPicture& m, const Form& form, const std::string& style) {
  double labels = 0;
  for (const auto& row : m.rows) labels = std::max(labels, text_width(row));
  Grid grid{};
  grid.left = m.rows.empty() ? 0 : std::min(labels, form.width * 0.3) + 8;
  grid.top = (m.column_label.empty() ? 2 : 18) + (m.columns.empty() && (m.row_label.empty() || !m.rows.empty()) ? 0 : 16);
  grid.width = std::min((form.width - grid.left) / static_cast<double>(m.num_columns), m.tall ? 16.0 : 44.0);
  grid.height = m.tall           ? grid.width
                : m.rows.empty() ? std::clamp(240.0 / static_cast<double>(m.num_rows), 3.0, 18.0)
                                 : std::clamp(640.0 / static_cast<double>(m.num_rows), 13.0, 20.0);
  const double bottom = grid.top + grid.height * static_cast<double>(m.num_rows);
  Svg svg(form, bottom + 28, m.title, m.description);
  const std::string hatch = escaped(form.id + "-h");
  svg.raw(
      "<pattern id=\"" + hatch +
      "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><path class=\"gr\" stroke-width=\"3\" d=\"M0 0v6\"/></pattern>");
  draw_names(svg, m, grid, form.width);
  const double peak = peak_of(m);
  if (m.values.size() <= kMostWithTips) draw_cells_one_by_one(svg, m, grid, peak, hatch);
  else draw_cells_by_shade(svg, m, grid, peak);
  svg.rect(grid.left, grid.top, grid.width * static_cast<double>(m.num_columns), bottom - grid.top, "gr");  // white cells are the ground's
  const bool below = std::any_of(m.values.begin(), m.values.end(), [](double x) { return x < 0; });
  draw_shade_bar(svg, grid.left, bottom + 8, below ? -kShadeLevels : 0, kShadeLevels, below ? cell_text(-peak) : "0", cell_text(peak));
  return svg.element(style);
}

}  // namespace ffn::pictures
