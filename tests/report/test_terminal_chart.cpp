// Where lines, letters and labels of a terminal's chart stand.
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

}  // namespace

TEST_CASE("every line of a chart is as wide as it was asked to be") {
  for (const auto charset : {Charset::utf8, Charset::ascii}) {
    for (const int columns : {30, 80, 200}) {
      const auto lines = drawn(falling(), columns, 10, charset, false).lines;
      CHECK(lines.size() == 13);
      for (const auto& line : lines) CHECK(display_width(line) == static_cast<std::size_t>(columns));
    }
  }
}

TEST_CASE("a line goes from corner to corner and the axes say what it goes through") {
  auto chart = falling();
  for (auto& point : chart.lines[0].points) point.low = point.high = point.y;
  const auto lines = drawn(chart, 15, 11, Charset::ascii, false).lines;  // eleven columns and rows beside the labels
  CHECK(lines[0] == "loss           ");
  CHECK(lines[1] == "10 +a          ");
  CHECK(lines[5].substr(0, 4) == " 6 +");
  CHECK(lines[6][4 + 5] == 'a');
  CHECK(lines[11] == " 0 +          a");
  CHECK(lines[12].substr(0, 4) == "   +");
  CHECK(lines[13].substr(lines[13].size() - 2) == "10");
  CHECK(drawn(chart, 60, 11, Charset::utf8, false).lines[1].substr(0, 6) == "10 ┤");
}

TEST_CASE("an interval is drawn around its line, and a gap is a gap") {
  auto chart = falling();
  const auto has = [&](char what) {
    int count = 0;
    for (const auto& line : drawn(chart, 40, 12, Charset::ascii, false).lines)
      count += static_cast<int>(std::count(line.begin(), line.end(), what));
    return count;
  };
  CHECK(has('.') > 20);
  const int whole = has('a');
  for (int i = 3; i <= 7; ++i) chart.lines[0].points[static_cast<std::size_t>(i)].y = NAN;
  CHECK(has('a') < whole - 10);
  CHECK(has('a') > 10);
  for (auto& point : chart.lines[0].points) point.y = NAN;
  CHECK(has('a') == 0);
}

TEST_CASE("a dotted line has a dot in every second column, also where its points are closer than that") {
  for (const int steps : {4, 400}) {
    TerminalChart chart{"", {0, 1}, {0, 1}, {}, {}};
    ChartLine line{series_ink(0), {}, false};
    for (int i = 0; i <= steps; ++i) line.points.push_back({double(i) / steps, 0.5, 0.5, 0.5, true});
    chart.lines.push_back(line);
    std::string all;
    for (const auto& row : drawn(chart, 83, 5, Charset::ascii, false).lines) all += row;
    const auto dots = std::count(all.begin(), all.end(), 'a');
    CHECK(dots >= 39);
    CHECK(dots <= 41);
    CHECK(all.find("a a a a") != std::string::npos);
    CHECK(all.find("aa") == std::string::npos);
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
  for (const auto& line : drawn(chart, 100, 16, Charset::utf8, false).lines) all += line;
  CHECK(std::count(all.begin(), all.end(), 'a') >= 4);
  CHECK(std::count(all.begin(), all.end(), 'b') >= 4);
  CHECK(series_letter(25) == 'z');
  CHECK(series_letter(26) == 'A');
}

TEST_CASE("what ASCII lacks is written otherwise") {
  CHECK(as_ascii("−2·10⁻⁴ ± 0.1") == "-2*10^-4 +- 0.1");
  CHECK(as_ascii("z²") == "z^2");
  CHECK(as_ascii("名") == "?");
}
