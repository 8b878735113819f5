// Dots in braille, and sparklines.
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/report/canvas.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("a cell has two by four dots") {
  Canvas canvas(2, 1);
  CHECK(canvas.dots_x() == 4);
  CHECK(canvas.dots_y() == 4);
  canvas.dot(0, 0, {});  // Unicode: dots 1 to 8 are the bits 01 08 / 02 10 / 04 20 / 40 80
  canvas.dot(1, 3, {});
  canvas.dot(2, 2, {});
  CHECK(canvas.lines(false) == std::vector<std::string>{"\u2881\u2804"});
  const std::vector<std::vector<std::string>> each = {{"\u2801", "\u2802", "\u2804", "\u2840"}, {"\u2808", "\u2810", "\u2820", "\u2880"}};
  for (int x = 0; x < 2; ++x) {
    for (int y = 0; y < 4; ++y) {
      Canvas one(1, 1);
      one.dot(x, y, {});
      CHECK(one.lines(false)[0] == each[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)]);
    }
  }
}

TEST_CASE("a line has no holes, and what lies beyond the edges is left out") {
  Canvas canvas(2, 1);  // 4 × 4 dots: the diagonal has the bits 01 10 and 04 80, the second row 02 10 in each cell
  canvas.line(0, 0, 3, 3, {});
  canvas.line(-5, 1, 9, 1, {});
  canvas.line(0, NAN, 3, 3, {});
  CHECK(canvas.lines(false) == std::vector<std::string>{"\u2813\u2896"});
}

TEST_CASE("a shade leaves the cells of a line as they are") {
  Canvas canvas(1, 3);
  canvas.dot(0, 5, {});
  canvas.shade(0, -7, 100, {});
  CHECK(canvas.lines(false) == std::vector<std::string>{"\u2805", "\u2802", "\u2805"});
}

TEST_CASE("a shade is thinner than a line") {
  const auto dots = [](const Canvas& canvas) {
    int count = 0;
    for (const auto& line : canvas.lines(false)) {
      for (auto c : decode_utf8(line)) {
        for (; c > 0x2800; c = 0x2800 | ((c & 0xFF) & ((c & 0xFF) - 1))) ++count;
      }
    }
    return count;
  };
  Canvas shade(10, 10), line(10, 10);
  for (int x = 0; x < 20; ++x) {
    shade.shade(x, 0, 39, {});
    line.line(x, 0, x, 39, {});
  }
  CHECK(dots(line) == 800);
  CHECK(dots(shade) > 100);
  CHECK(dots(shade) < 300);
}

TEST_CASE("neighbours of one colour share its codes, and without colour there are none") {
  Canvas canvas(4, 1);
  canvas.mark(0, 0, {Style::cyan, 'a'});
  canvas.mark(2, 0, {Style::cyan, 'a'});
  canvas.mark(6, 0, {Style::yellow, 'b'});
  CHECK(canvas.lines(true) == std::vector<std::string>{"\033[36maa\033[0m \033[33mb\033[0m"});
  CHECK(printable(canvas.lines(true)[0], /*keep_colors=*/true) == canvas.lines(true)[0]);  // every colour passes the filter
  CHECK(canvas.lines(false) == std::vector<std::string>{"aa b"});
}

TEST_CASE("a sparkline runs from the least to the most, and what is missing is a blank") {
  CHECK(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 0, 7, 20) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline({0, NAN, 7, INFINITY}, 0, 7, 20) == "▁ █ ");
  CHECK(sparkline({0, 0, 7, 7}, 0, 7, 2) == "▁█");  // each the mean of its share
  CHECK(sparkline({3, 3}, 3, 3, 9) == "▁▁");        // no range
  CHECK(sparkline({-5, 50}, 0, 7, 9) == "▁█");      // held within it
  CHECK(sparkline({}, 0, 1, 9).empty());
}
