#include "ffn/report/terminal_chart.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/report/table.hpp"

namespace ffn::report {

namespace {

constexpr int kDotsPerRow = 4, kDotsPerColumn = 2;  // of braille

std::string blanks(std::size_t count) { return std::string(count, ' '); }

std::string filled(const std::string& text, std::size_t width) { return text + blanks(width - std::min(width, display_width(text))); }

void draw_band(Canvas& canvas, const ChartLine& line, const Axis& x, const Axis& y) {
  for (std::size_t i = 1; i < line.points.size(); ++i) {
    const auto &a = line.points[i - 1], &b = line.points[i];
    if (!std::isfinite(a.y) || !std::isfinite(b.y) || (a.low == a.high && b.low == b.high)) continue;
    const double from = x.at(a.x), to = x.at(b.x);
    for (int column = static_cast<int>(std::ceil(from)); column <= static_cast<int>(std::floor(to)); ++column) {
      const double share = to > from ? (column - from) / (to - from) : 0;
      const auto between = [&](double first, double second) { return y.at(first) + share * (y.at(second) - y.at(first)); };
      canvas.shade(column, between(a.high, b.high), between(a.low, b.low), line.ink);
    }
  }
}

// Single dots so far from each other that no colour is needed to tell them from a line. `due` is the way to the next one, which goes on
// from piece to piece: most pieces are shorter.
void draw_dots(Canvas& canvas, double x1, double y1, double x2, double y2, const Ink& ink, double& due) {
  const double every = 2.0 * canvas.dots_x() / canvas.columns(), length = std::max(std::abs(x2 - x1), std::abs(y2 - y1));
  if (!std::isfinite(x1 + y1 + x2 + y2)) return;
  for (; due <= length; due += every) {
    const double share = length > 0 ? due / length : 0;
    canvas.dot(static_cast<int>(std::lround(x1 + share * (x2 - x1))), static_cast<int>(std::lround(y1 + share * (y2 - y1))), ink);
  }
  due -= length;
}

void draw_line(Canvas& canvas, const ChartLine& line, const Axis& x, const Axis& y) {
  double due = 0;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const auto& b = line.points[i];
    if (!std::isfinite(b.y)) continue;
    const auto& a = i > 0 && std::isfinite(line.points[i - 1].y) ? line.points[i - 1] : b;
    if (b.dotted) draw_dots(canvas, x.at(a.x), y.at(a.y), x.at(b.x), y.at(b.y), line.ink, due);
    else {
      canvas.line(x.at(a.x), y.at(a.y), x.at(b.x), y.at(b.y), line.ink);
      due = 0;
    }
  }
}

// Its letter here and there, and at its end: lines are told apart without colours, too.
void draw_letters(Canvas& canvas, const ChartLine& line, std::size_t index, const Axis& x, const Axis& y) {
  if (!line.lettered) return;
  const double gap = std::max(14.0, canvas.columns() / 5.0) * canvas.dots_x() / canvas.columns();
  double next = gap * (0.25 + 0.22 * static_cast<double>(index));
  const ChartPoint* last = nullptr;
  for (std::size_t i = 0; i < line.points.size(); ++i) {
    const auto& b = line.points[i];
    if (!std::isfinite(b.y)) continue;
    last = &b;
    if (i == 0 || !std::isfinite(line.points[i - 1].y)) continue;
    const auto& a = line.points[i - 1];
    for (; next < x.at(b.x); next += gap) {
      if (next < x.at(a.x)) continue;
      const double share = (next - x.at(a.x)) / (x.at(b.x) - x.at(a.x));
      canvas.mark(static_cast<int>(std::lround(next)), static_cast<int>(std::lround(y.at(a.y) + share * (y.at(b.y) - y.at(a.y)))),
                  line.ink);
    }
  }
  if (last) canvas.mark(static_cast<int>(std::lround(x.at(last->x))), static_cast<int>(std::lround(y.at(last->y))), line.ink);
}

// The text beside each row: the labels of the ticks that fall into it.
std::vector<std::string> side_labels(const Axis& y, int rows) {
  std::vector<std::string> labels(static_cast<std::size_t>(rows));
  for (const auto& tick : ticks(y, std::max(4, rows / 3))) {
    const int row = std::clamp(static_cast<int>(std::lround(y.at(tick.value))) / kDotsPerRow, 0, rows - 1);
    auto& label = labels[static_cast<std::size_t>(row)];
    if (label.empty()) label = tick.label;
  }
  return labels;
}

std::vector<std::string> x_axis_lines(const Axis& x, std::size_t left, int columns) {
  const std::size_t width = left + static_cast<std::size_t>(columns);
  std::string axis = blanks(left - 1) + "└", labels;
  std::vector<bool> has_tick(static_cast<std::size_t>(columns));
  std::size_t free_from = 0;
  for (const auto& tick : ticks(x, std::max(2, columns / 12))) {
    const auto column =
        static_cast<std::size_t>(std::clamp(static_cast<int>(std::lround(x.at(tick.value))) / kDotsPerColumn, 0, columns - 1));
    const std::size_t wide = display_width(tick.label);
    if (wide == 0) continue;
    const std::size_t begin = std::min(left + column - std::min(left + column, wide / 2), width - std::min(width, wide));
    if (begin < free_from) continue;
    labels += blanks(begin - display_width(labels)) + tick.label;
    has_tick[column] = true;
    free_from = begin + wide + 1;
  }
  for (const bool tick : has_tick) axis += tick ? "┬" : "─";
  return {axis, filled(labels, width)};
}

}  // namespace

char series_letter(std::size_t series) { return static_cast<char>(series % 52 < 26 ? 'a' + series % 52 : 'A' + series % 52 - 26); }

Ink series_ink(std::size_t series) {
  constexpr Style kStyles[] = {Style::cyan, Style::yellow, Style::magenta, Style::green, Style::red, Style::blue};
  return {kStyles[series % std::size(kStyles)], series_letter(series)};
}

Block drawn(const TerminalChart& chart, int columns, int rows, bool color) {
  Axis x = chart.x, y = chart.y;
  y.from = rows * kDotsPerRow - 1;
  y.to = 0;
  const auto labels = side_labels(y, rows);
  std::size_t widest = 0;
  for (const auto& label : labels) widest = std::max(widest, display_width(label));
  const std::size_t left = widest + 2;  // a blank and the axis
  Canvas canvas(std::max(8, columns - static_cast<int>(left)), rows);
  x.from = 0;
  x.to = canvas.dots_x() - 1;

  for (const auto& line : chart.lines) draw_band(canvas, line, x, y);
  if (chart.target) {
    for (int at = 0; at < canvas.dots_x(); at += 2 * kDotsPerColumn)
      canvas.dot(at, static_cast<int>(std::lround(y.at(*chart.target))), {Style::faint, '-'});
  }
  for (const auto& line : chart.lines) draw_line(canvas, line, x, y);
  for (std::size_t i = 0; i < chart.lines.size(); ++i) draw_letters(canvas, chart.lines[i], i, x, y);

  const std::size_t width = left + static_cast<std::size_t>(canvas.columns());
  Block out{{}, width};
  for (const auto& line : wrapped_lines(chart.title, static_cast<int>(width))) out.lines.push_back(filled(line, width));
  const auto cells = canvas.lines(color);
  for (std::size_t row = 0; row < cells.size(); ++row) {
    const auto& label = labels[row];
    out.lines.push_back(blanks(widest - display_width(label)) + label + " " + (label.empty() ? "│" : "┤") + cells[row]);
  }
  for (auto& line : x_axis_lines(x, left, canvas.columns())) out.lines.push_back(std::move(line));
  return out;
}

}  // namespace ffn::report
