// Dots in braille and in ASCII, and sparklines.
#include <cmath>
#include <map>

#include "ffn/base/text.hpp"
#include "ffn/report/canvas.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("a cell has two by four dots") {
  Canvas canvas(2, 1, Charset::utf8);
  CHECK(canvas.dots_x() == 4);
  CHECK(canvas.dots_y() == 4);
  canvas.dot(0, 0, {});  // Unicode: dots 1 to 8 are the bits 01 08 / 02 10 / 04 20 / 40 80
  canvas.dot(1, 3, {});
  canvas.dot(2, 2, {});
  CHECK(canvas.lines(false) == std::vector<std::string>{"\u2881\u2804"});
  const std::vector<std::vector<std::string>> each = {{"\u2801", "\u2802", "\u2804", "\u2840"}, {"\u2808", "\u2810", "\u2820", "\u2880"}};
  for (int x = 0; x < 2; ++x) {
    for (int y = 0; y < 4; ++y) {
      Canvas one(1, 1, Charset::utf8);
      one.dot(x, y, {});
      CHECK(one.lines(false)[0] == each[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)]);
    }
  }
}

TEST_CASE("a line has no holes, and what lies beyond the edges is left out") {
  Canvas canvas(4, 4, Charset::ascii);
  canvas.line(0, 0, 3, 3, {{}, 'a'});
  canvas.line(-5, 1, 9, 1, {{}, 'b'});
  canvas.line(0, NAN, 3, 3, {{}, 'c'});
  CHECK(canvas.lines(false) == std::vector<std::string>{"a   ", "bbbb", "  a ", "   a"});
}

TEST_CASE("a shade leaves a line as it is, whichever comes first") {
  Canvas canvas(1, 3, Charset::ascii);
  canvas.dot(0, 1, {{}, 'a'});
  canvas.shade(0, -7, 100, {});
  CHECK(canvas.lines(false) == std::vector<std::string>{".", "a", "."});
  Canvas other(1, 3, Charset::ascii);
  other.shade(0, 0, 2, {});
  other.dot(0, 1, {{}, 'a'});
  CHECK(other.lines(false) == canvas.lines(false));
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
  Canvas shade(10, 10, Charset::utf8), line(10, 10, Charset::utf8);
  for (int x = 0; x < 20; ++x) {
    shade.shade(x, 0, 39, {});
    line.line(x, 0, x, 39, {});
  }
  CHECK(dots(line) == 800);
  CHECK(dots(shade) > 100);
  CHECK(dots(shade) < 300);
}

TEST_CASE("neighbours of one colour share its codes, and without colour there are none") {
  Canvas canvas(4, 1, Charset::ascii);
  canvas.dot(0, 0, {Style::cyan, 'a'});
  canvas.dot(1, 0, {Style::cyan, 'a'});
  canvas.mark(3, 0, {Style::yellow, 'b'});
  CHECK(canvas.lines(true) == std::vector<std::string>{"\033[36maa\033[0m \033[33mb\033[0m"});
  CHECK(printable(canvas.lines(true)[0], /*keep_colors=*/true) == canvas.lines(true)[0]);  // every colour passes the filter
  CHECK(canvas.lines(false) == std::vector<std::string>{"aa b"});
}

TEST_CASE("a sparkline runs from the least to the most, and what is missing is a blank") {
  CHECK(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 0, 7, 20, Charset::utf8) == "▁▂▃▄▅▆▇█");
  CHECK(sparkline({0, NAN, 7, INFINITY}, 0, 7, 20, Charset::ascii) == "1 8 ");
  CHECK(sparkline({0, 0, 7, 7}, 0, 7, 2, Charset::ascii) == "18");  // each the mean of its share
  CHECK(sparkline({3, 3}, 3, 3, 9, Charset::ascii) == "11");        // no range
  CHECK(sparkline({-5, 50}, 0, 7, 9, Charset::ascii) == "18");      // held within it
  CHECK(sparkline({}, 0, 1, 9, Charset::utf8).empty());
}

TEST_CASE("the charset is that of the first locale variable that is set") {
  const auto with = [](std::map<std::string, std::string> set) {
    return is_utf8([set](const char* name) -> const char* { return set.count(name) ? set.at(name).c_str() : nullptr; });
  };
  CHECK(with({{"LANG", "en_GB.UTF-8"}}));
  CHECK(with({{"LANG", "de_DE.utf8"}}));
  CHECK(with({{"LC_ALL", ""}, {"LANG", "C.UTF-8"}}));
  CHECK_FALSE(with({{"LC_ALL", "C"}, {"LANG", "en_GB.UTF-8"}}));
  CHECK_FALSE(with({{"LC_CTYPE", "en_US.ISO-8859-1"}, {"LANG", "en_GB.UTF-8"}}));
  CHECK_FALSE(with({}));
}
