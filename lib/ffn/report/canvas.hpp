// A rectangle of terminal cells to draw in: braille dots, two by four in a cell.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ffn/report/terminal.hpp"

namespace ffn {

/// The look of a line: a colour, and the letter that tells it from others without colours.
struct Ink {
  std::optional<Style> style;
  char letter = '*';
};

class Canvas {
 public:
  Canvas(int columns, int rows);

  int columns() const { return columns_; }
  int rows() const { return rows_; }
  /// How fine it is: dots, (0, 0) being the upper left.
  int dots_x() const { return 2 * columns_; }
  int dots_y() const { return 4 * rows_; }

  /// One dot; what lies beyond the edges is not drawn.
  void dot(int x, int y, const Ink& ink);
  /// Every dot between two places, both of them included.
  void line(double x1, double y1, double x2, double y2, const Ink& ink);
  /// The dots of a column from `top` to `bottom`, thinly, so that a line through them stands out. Never over a line.
  void shade(int x, double top, double bottom, const Ink& ink);
  /// A letter in the cell of this dot, over whatever is there.
  void mark(int x, int y, const Ink& ink);

  /// The cells, top to bottom, each line `columns` wide.
  std::vector<std::string> lines(bool color) const;

 private:
  struct Cell {
    unsigned dots = 0;      ///< of braille, a bit each
    bool has_line = false;  ///< and not only a shade
    char letter = '\0';     ///< in place of the dots
    std::optional<Style> style;
  };

  Cell* cell_at(int x, int y);
  std::string text_of(const Cell& cell) const;

  int columns_, rows_;
  std::vector<Cell> cells_;
};

/// A row of eighth blocks, ▁ for the least of all values and █ for the most; a blank for what is no number. At most
/// `columns` of them, each the mean of its share of the values.
std::string sparkline(const std::vector<double>& values, double least, double most, int columns);

}  // namespace ffn
