#include <sstream>

#include "ffn/base/text.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/terminal.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

Table wide() {
  Table table({{"variant"}, {"runs", Align::right}, {"mean ± 95 %", Align::right}, {"parameters", Align::right}, {"verdict"}});
  table.add_row({"kind=gated+activation=silu", "20", "0.31 [0.12, 0.83]", "1,234,567", "no meaningful difference"});
  table.highlight_last_row();
  table.add_row({"kind=positionwise+activation=gelu", "20", "0.5 ± 0.1", "1,234,000", "better"});
  return table;
}

}  // namespace

TEST_CASE("a table that has room is a table") {
  CHECK(laid_out(wide(), 200, false) == wide().terminal_text(false));
  CHECK(laid_out(wide(), 0, false) == wide().terminal_text(false));
  CHECK(has_room(wide(), 113));
}

TEST_CASE("the widest column of words goes on in the lines below") {
  Table table({{"name"}, {"runs", Align::right}, {"what it is"}});
  table.add_row({"relu", "20", "the larger of its input and nothing"});
  table.add_row({"gelu", "3", "smooth"});
  CHECK(laid_out(table, 32, false) ==
        "name  runs  what it is\n"
        "relu    20  the larger of its\n"
        "            input and nothing\n"
        "gelu     3  smooth\n");
}

TEST_CASE("a table without room is a paragraph a row, each cell whole behind the name of its column") {
  Table table({{"neuron"}, {"cos", Align::right}, {""}, {"towards"}});
  table.add_row({"0.84", "−0.24 [−0.44, +0.04]", "", "e 0.48 · f 0.45"});
  table.highlight_last_row();
  table.add_row({"0.31", "−0.12", "x", "activation_of_many_parts"});
  const std::string text =
      "neuron: 0.84\n"
      "  cos: −0.24 [−0.44, +0.04]\n"
      "  towards: e 0.48 · f 0.45\n"
      "neuron: 0.31   cos: −0.12   x\n"
      "  towards:\n"
      "  activation_of_many_parts\n";
  CHECK_FALSE(has_room(table, 30));
  CHECK(laid_out(table, 30, false) == text);
  CHECK(laid_out(table, 30, true).substr(0, 21) == "\033[1mneuron: 0.84\033[0m\n");
}

TEST_CASE("a number is never broken and no line is wider, whatever the width") {
  Table table({{"variant"}, {"difference", Align::right}, {"parameters", Align::right}, {"share", Align::right}, {"what it takes"}});
  table.add_row({"kind=gated+activation=silu", "−12.5 [−15.0, −10.0)", "1,234,567", "13.7 %", "e −0.46 · f 0.72"});
  table.add_row({"relu", "+1.0 (+0.5, +2.0]", "34", "< 0.1 %", "␣or␣ (3)  4.8"});
  table.add_row({"relu+lr=1e_200", "×2.2e+47", "34", "< 0.1 %", ""});
  for (int width = 28; width <= 130; ++width) {
    const auto text = laid_out(table, width, false);
    INFO(width << "\n" << text);
    CHECK(widest_line(text) <= width);
    for (const char* number : {"−12.5 [−15.0,", "−10.0)", "1,234,567", "13.7 %", "+1.0 (+0.5,", "+2.0]", "−0.46", "0.72", "4.8",
                               "lr=1e_200", "2.2e+47", "difference", "parameters"})
      CHECK(text.find(number) != std::string::npos);
  }
}

TEST_CASE("columns of Chinese, of emoji and of combining marks line up") {
  Table table({{"变体", Align::left}, {"val/loss", Align::right}});
  table.add_row({"激活函数", "0.5"});
  table.add_row({"e\u0301tude", "0.25"});
  table.add_row({"\U0001F600", "0.125"});
  CHECK(table.terminal_text(false) ==
        "变体      val/loss\n"
        "激活函数       0.5\n"
        "e\u0301tude         0.25\n"
        "\U0001F600           0.125\n");
  CHECK(wrapped_lines("激活 函数", 6) == std::vector<std::string>{"激活", "函数"});
}

TEST_CASE("a line is cut at blanks and keeps those between, and those that it begins with") {
  CHECK(wrapped_lines("  x   0.10 -0.10  0.30", 14, 2) == std::vector<std::string>{"  x   0.10", "    -0.10", "    0.30"});
  CHECK(wrapped_lines("  x   0.10 -0.10  0.30", 80, 4) == std::vector<std::string>{"  x   0.10 -0.10  0.30"});
  CHECK(wrapped_lines("  x   0.10 -0.10  0.30", 0, 4).size() == 1);
  CHECK(wrapped_lines("a_very_long_word that", 8, 2) == std::vector<std::string>{"a_very_long_word", "  that"});
  CHECK(wrapped_lines("ends in a blank ", 15).size() == 1);
  CHECK(wrapped_lines("", 5) == std::vector<std::string>{""});
}

TEST_CASE("paragraphs are wrapped line by line") {
  CHECK(wrapped("  one two three\nfour\n", 10, 2) == "  one two\n    three\nfour\n");
  CHECK(wrapped("x = a_very_long_word\n", 8, 4) == "x =\n    a_very_long_word\n");
  CHECK(wrapped("one two", 0) == "one two");
  CHECK(wrapped("one two three", 7) == "one two\nthree\n");
}

TEST_CASE("blocks stand beside each other where there is room") {
  const std::vector<Block> blocks = {{{"aaaa", "a"}, 4}, {{"bbbb"}, 4}, {{"cc", "", "c"}, 2}};
  CHECK(beside_each_other(blocks, 11) == "aaaa   bbbb\na\n\ncc\n\nc\n");
  CHECK(beside_each_other(blocks, 10) == "aaaa\na\n\nbbbb   cc\n\n       c\n");
  CHECK(beside_each_other(blocks, 80) == "aaaa   bbbb   cc\na\n              c\n");
  CHECK(beside_each_other({{{styled("xy", Style::cyan, true)}, 2}, {{"z"}, 1}}, 80) == "\033[36mxy\033[0m   z\n");
}
