#include "ffn/report/canvas.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"

namespace ffn {

namespace {

// Unicode 16, block "Braille Patterns": the bit of each of the 2 × 4 dots.
constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
constexpr std::uint32_t kEmptyBraille = 0x2800;

}  // namespace

Canvas::Canvas(int columns, int rows)
    : columns_(std::max(1, columns)), rows_(std::max(1, rows)), cells_(static_cast<std::size_t>(columns_ * rows_)) {}

Canvas::Cell* Canvas::cell_at(int x, int y) {
  if (x < 0 || y < 0 || x >= dots_x() || y >= dots_y()) return nullptr;
  return &cells_[static_cast<std::size_t>(y / 4 * columns_ + x / 2)];
}

void Canvas::dot(int x, int y, const Ink& ink) {
  Cell* cell = cell_at(x, y);
  if (!cell) return;
  cell->dots |= kBits[y % 4][x % 2];
  cell->style = ink.style;
  cell->has_line = true;
}

void Canvas::line(double x1, double y1, double x2, double y2, const Ink& ink) {
  const double length = std::max(std::abs(x2 - x1), std::abs(y2 - y1));
  if (!std::isfinite(x1 + y1 + x2 + y2)) return;
  const int steps = std::max(1, static_cast<int>(std::ceil(length)));
  for (int i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / steps;
    dot(static_cast<int>(std::lround(x1 + share * (x2 - x1))), static_cast<int>(std::lround(y1 + share * (y2 - y1))), ink);
  }
}

void Canvas::shade(int x, double top, double bottom, const Ink& ink) {
  const int first = static_cast<int>(std::lround(std::clamp(top, 0.0, dots_y() - 1.0))),
            last = static_cast<int>(std::lround(std::clamp(bottom, 0.0, dots_y() - 1.0)));
  for (int y = first; y <= last; ++y) {
    Cell* cell = cell_at(x, y);
    if (!cell || cell->has_line || (x + 2 * y) % 4 != 0) continue;
    cell->dots |= kBits[y % 4][x % 2];
    cell->style = ink.style;
  }
}

void Canvas::mark(int x, int y, const Ink& ink) {
  Cell* cell = cell_at(x, y);
  if (!cell) return;
  cell->letter = ink.letter;
  cell->style = ink.style;
  cell->has_line = true;
}

std::string Canvas::text_of(const Cell& cell) const {
  if (cell.letter != '\0') return std::string(1, cell.letter);
  if (cell.dots == 0) return " ";
  std::string out;
  append_utf8(out, kEmptyBraille + cell.dots);
  return out;
}

std::vector<std::string> Canvas::lines(bool color) const {
  std::vector<std::string> out;
  for (int row = 0; row < rows_; ++row) {
    std::string line, run;  // neighbours of one colour share its codes
    std::optional<Style> style;
    const auto flush = [&] {
      line += style ? styled(run, *style, color) : run;
      run.clear();
    };
    for (int column = 0; column < columns_; ++column) {
      const auto& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
      if (cell.style != style) {
        flush();
        style = cell.style;
      }
      run += text_of(cell);
    }
    flush();
    out.push_back(std::move(line));
  }
  return out;
}

std::string sparkline(const std::vector<double>& values, double least, double most, int columns) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t count = std::min(values.size(), static_cast<std::size_t>(std::max(0, columns)));
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    int known = 0;
    for (std::size_t k = i * values.size() / count; k < (i + 1) * values.size() / count; ++k) {
      if (std::isfinite(values[k])) {
        sum += values[k];
        ++known;
      }
    }
    const double share = most > least ? (sum / known - least) / (most - least) : 0;
    const int level = known > 0 ? static_cast<int>(std::lround((share > 0 ? std::min(share, 1.0) : 0) * 7)) : -1;
    out += level < 0 ? " " : kBlocks[level];
  }
  return out;
}

}  // namespace ffn
