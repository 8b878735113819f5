// Lines over an axis, in the cells of a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/report/axis.hpp"
#include "ffn/report/canvas.hpp"
#include "ffn/report/layout.hpp"

namespace ffn::report {

struct ChartPoint {
  double x, y, low, high;  ///< an interval of no length is not drawn; a gap where y is not finite
  bool dotted = false;
};

struct ChartLine {
  Ink ink;
  std::vector<ChartPoint> points;
  bool lettered = true;  ///< its letter stands here and there on the line, and at its end
};

struct TerminalChart {
  std::string title;  ///< above the y axis
  Axis x, y;
  std::vector<ChartLine> lines;
  std::optional<double> target;  ///< a dotted line at this y
};

/// a, b, c, …; the same series has the same everywhere.
char series_letter(std::size_t series);
Ink series_ink(std::size_t series);

/// Lines of exactly `columns` columns: the title, `rows` rows with the y axis, the x axis and its labels.
Block drawn(const TerminalChart& chart, int columns, int rows, bool color);

}  // namespace ffn::report
