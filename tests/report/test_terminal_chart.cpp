// Places of lines, letters and labels in a terminal's chart.
#include <algorithm>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/report/terminal_chart.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::report;

namespace {

TerminalChart falling() {
  TerminalChart chart{"loss", {0, 10}, {0, 10}, {}, {}};
  ChartLine line{series_ink(0), {}};
  for (int i = 0; i <= 10; ++i) line.points.push_back({double(i), 10.0 - i, 9.0 - i, 11.0 - i});
  chart.lines.push_back(line);
  return chart;
}

// Cells with dots, row by row.
std::vector<std::vector<bool>> dotted(const TerminalChart& chart, int columns, int rows) {
  std::vector<std::vector<bool>> out;
  for (const auto& line : drawn(chart, columns, rows, false).lines) {
    out.emplace_back();
    for (const auto c : decode_utf8(line)) out.back().push_back(c > 0x2800 && c <= 0x28FF);
  }
  return out;
}

int num_dotted(const TerminalChart& chart, int columns, int rows) {
  int count = 0;
  for (const auto& row : dotted(chart, columns, rows)) count += static_cast<int>(std::count(row.begin(), row.end(), true));
  return count;
}

}  // namespace

TEST_CASE("every line of a chart is as wide as it was asked to be") {
  for (const int columns : {30, 80, 200}) {
    const auto lines = drawn(falling(), columns, 10, false).lines;
    CHECK(lines.size() == 13);
    for (const auto& line : lines) CHECK(display_width(line) == static_cast<std::size_t>(columns));
  }
}

TEST_CASE("a line goes from corner to corner and the axes say what it goes through") {
  auto chart = falling();
  for (auto& point : chart.lines[0].points) point.low = point.high = point.y;
  const auto lines = drawn(chart, 15, 11, false).lines;  // eleven columns and rows beside the labels: 22 × 44 dots
  CHECK(lines[0] == "loss           ");
  CHECK(lines[1] == "10 ┤\u28A3\u2840         ");  // dots (0, 0), (0, 1), (1, 2), (1, 3), (2, 3)
  CHECK(lines[5].rfind(" 6 ┤", 0) == 0);
  CHECK(lines[11] == " 0 ┤         \u2808a");
  CHECK(lines[12].rfind("   └", 0) == 0);
  CHECK(lines[13].substr(lines[13].size() - 2) == "10");
}

TEST_CASE("an interval is drawn around its line, and a gap is a gap") {
  auto chart = falling(), bare = falling();
  for (auto& point : bare.lines[0].points) point.low = point.high = point.y;
  const int whole = num_dotted(bare, 40, 12);
  CHECK(num_dotted(chart, 40, 12) > whole + 20);
  for (int i = 3; i <= 7; ++i) bare.lines[0].points[static_cast<std::size_t>(i)].y = NAN;
  CHECK(num_dotted(bare, 40, 12) < whole - 10);
  CHECK(num_dotted(bare, 40, 12) > 10);
  for (auto& point : chart.lines[0].points) point.y = NAN;
  CHECK(num_dotted(chart, 40, 12) == 0);
}

TEST_CASE("a dotted line has a dot in every second column, also where its points are closer than that") {
  for (const int steps : {4, 400}) {
    TerminalChart chart{"", {0, 1}, {0, 1}, {}, {}};
    ChartLine line{series_ink(0), {}, false};
    for (int i = 0; i <= steps; ++i) line.points.push_back({double(i) / steps, 0.5, 0.5, 0.5, true});
    chart.lines.push_back(line);
    CHECK(num_dotted(chart, 83, 5) >= 39);
    CHECK(num_dotted(chart, 83, 5) <= 41);
    for (const auto& row : dotted(chart, 83, 5)) {
      for (std::size_t i = 1; i < row.size(); ++i) CHECK_FALSE((row[i] && row[i - 1]));
    }
  }
}

TEST_CASE("each line carries its own letter") {
  auto chart = falling();
  chart.lines.push_back(chart.lines[0]);
  chart.lines[1].ink = series_ink(1);
  for (auto& point : chart.lines[1].points) {
    point.y = 10 - point.y;
    point.low = point.high = point.y;
  }
  std::string all;
  for (const auto& line : drawn(chart, 100, 16, false).lines) all += line;
  CHECK(std::count(all.begin(), all.end(), 'a') >= 4);
  CHECK(std::count(all.begin(), all.end(), 'b') >= 4);
  CHECK(series_letter(25) == 'z');
  CHECK(series_letter(26) == 'A');
}
