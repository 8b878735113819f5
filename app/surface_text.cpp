// A network of one or two numbers over all of its input, in the cells of a terminal.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/terminal_chart.hpp"
#include "inspect_text.hpp"

namespace ffn::app {

using inspect::Surface;

namespace {

std::string range_text(const Surface& s, std::size_t input) {
  return printable(s.names[input]) + " from " + shown_number(s.low[input], 2) + " to " + shown_number(s.high[input], 2);
}

void print_curve(const Surface& s, int width, bool color) {
  std::vector<double> heights = s.values;
  report::ChartLine network{report::series_ink(0), {}}, task{report::series_ink(1), {}};
  for (std::int64_t i = 0; i < s.side; ++i) {
    const double y = s.values[static_cast<std::size_t>(i)];
    network.points.push_back({s.at(0, i), y, y, y});
  }
  auto examples = s.examples;
  std::sort(examples.begin(), examples.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  for (const auto& example : examples) {
    heights.push_back(example.y);
    if (!example.trained) task.points.push_back({example.x, example.y, example.y, example.y, /*dotted=*/true});
  }
  const report::TerminalChart chart{"a: the network, b: validation targets (dotted), over " + printable(s.names[0]),
                                    {s.low[0], s.high[0]},
                                    report::axis_for(heights, report::AxisKind::linear),
                                    {task, network},
                                    std::nullopt};
  for (const auto& line : report::drawn(chart, width, 16, color).lines) std::cout << line << "\n";
  if (!s.zeros.empty())
    print_paragraph(format_counted(s.zeros.size(), "hidden unit") + " of the first layer change" + (s.zeros.size() == 1 ? "s" : "") +
                    " sign within this range.");
}

char mark_of(const Surface& s, std::int64_t kind) {
  if (s.kind == Surface::Kind::numbers) return kind == 0 ? '+' : '-';
  return kind < 10 ? static_cast<char>('0' + kind) : report::series_letter(static_cast<std::size_t>(kind - 10));
}

bool has_two_kinds(const Surface& s) { return s.outputs <= 2; }
std::int64_t full_kind(const Surface& s) { return s.kind == Surface::Kind::numbers ? 0 : 1; }

// Two kinds: shades from none to full. More: a mark each, and a dot where no kind has half.
std::string cell_text_of(const Surface& s, const Surface::Cell& cell) {
  if (cell.kind < 0) return "?";
  if (!has_two_kinds(s)) {
    const double even = 1 / static_cast<double>(s.outputs);
    return std::string(1, even + cell.strength * (1 - even) < 0.5 ? '.' : mark_of(s, cell.kind));
  }
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  const double share = 0.5 + (cell.kind == full_kind(s) ? 0.5 : -0.5) * cell.strength;
  return kShades[std::lround(share * 4)];
}

void print_plane(const Surface& s, int most, bool color) {
  const int columns = std::clamp(terminal_width_of(STDOUT_FILENO) - 2, 2, most),
            rows = columns / 2;  // a square: cells are twice as high as wide
  const auto cell_at = [&](int column, int row) {
    return s.cell((2 * column + 1) * s.side / (2 * columns), (2 * (rows - 1 - row) + 1) * s.side / (2 * rows));
  };
  std::vector<std::string> marks(static_cast<std::size_t>(rows), std::string(static_cast<std::size_t>(columns), '\0'));
  for (const auto& e : s.examples) {
    const auto column = static_cast<int>((e.x - s.low[0]) / (s.high[0] - s.low[0]) * columns),
               row = rows - 1 - static_cast<int>((e.y - s.low[1]) / (s.high[1] - s.low[1]) * rows);
    if (e.trained || column < 0 || column >= columns || row < 0 || row >= rows) continue;
    if (has_two_kinds(s)) marks[row][column] = mark_of(s, e.kind);
    else if (cell_at(column, row).kind != e.kind) marks[row][column] = 'x';
  }
  for (int row = 0; row < rows; ++row) {
    std::string line = "│";
    for (int column = 0; column < columns; ++column) {
      const auto cell = cell_at(column, row);
      if (const char mark = marks[row][column]) line += styled(std::string(1, mark), Style::bold, color);
      else
        line +=
            styled(cell_text_of(s, cell), *report::series_ink(static_cast<std::size_t>(std::max<std::int64_t>(0, cell.kind))).style, color);
    }
    std::cout << line << "│"
              << "\n";
  }
  const std::string ranges = "Right: " + range_text(s, 0) + "; up: " + range_text(s, 1) + ". ";
  const bool numbers = s.kind == Surface::Kind::numbers;
  std::vector<std::string> marks_of;
  for (std::size_t k = 0; k < s.kinds.size(); ++k)
    marks_of.push_back(std::string(1, mark_of(s, static_cast<std::int64_t>(k))) + " " + printable(s.kinds[k]));
  print_paragraph(ranges +
                  (numbers ? "The fuller, the larger is the output. Validation examples by their target: "
                   : has_two_kinds(s)
                       ? "The fuller, the more probable is " + printable(s.kinds[1]) + ". Validation examples: "
                       : "Predicted class, a dot where none has half of the probability, x on a misclassified validation example: ") +
                  join(marks_of) + ".");
}

}  // namespace

void print_surface(const Surface& s, const CommonOptions& common, int columns) {
  const bool color = color_enabled(color_mode(common), STDOUT_FILENO);
  const char* const what = s.kind == Surface::Kind::curve     ? "Fitted curve over "
                           : s.kind == Surface::Kind::classes ? "Decision regions over "
                                                              : "Output over ";
  print_heading(printable(what + join(s.names, " and ")));
  if (s.kind == Surface::Kind::curve) print_curve(s, std::min(80, terminal_width_of(STDOUT_FILENO)), color);
  else print_plane(s, columns, color);
}

}  // namespace ffn::app
