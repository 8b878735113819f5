#include <sstream>

#include "ffn/base/utf8.hpp"
#include "ffn/report/fit.hpp"
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

std::string without_blanks(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

}  // namespace

TEST_CASE("a table that fits stays one table") {
  CHECK(split(wide(), 1, 200, false) == wide().terminal_text(false));
  CHECK(split(wide(), 1, 0, false) == wide().terminal_text(false));
  CHECK(folded(wide(), 200, false) == wide().terminal_text(false));
}

TEST_CASE("a table that is too wide becomes several that repeat the names") {
  CHECK(split(wide(), 1, 66, false) ==
        "variant                            runs        mean ± 95 %\n"
        "kind=gated+activation=silu           20  0.31 [0.12, 0.83]\n"
        "kind=positionwise+activation=gelu    20          0.5 ± 0.1\n"
        "\n"
        "variant                            parameters\n"
        "kind=gated+activation=silu          1,234,567\n"
        "kind=positionwise+activation=gelu   1,234,000\n"
        "\n"
        "variant                            verdict\n"
        "kind=gated+activation=silu         no meaningful difference\n"
        "kind=positionwise+activation=gelu  better\n");
}

TEST_CASE("names and cells that are too wide go on in the next line") {
  Table table({{"name"}, {"what it is"}});
  table.add_row({"kind=gated+activation=silu", "two words"});
  CHECK(folded(table, 24, false) ==
        "name          what it is\n"
        "kind=gated+   two words\n"
        "activation=\n"
        "silu\n");
}

TEST_CASE("numbers stay whole as long as names can give") {
  Table table({{"metric"}, {"final", Align::right}, {"best", Align::right}, {"at step", Align::right}});
  table.add_row({"train/grad_norm", "9.360e-05", "2.713e-06", "1,000"});
  CHECK(folded(table, 40, false) ==
        "metric         final       best  at step\n"
        "train/     9.360e-05  2.713e-06    1,000\n"
        "grad_norm\n");
}

TEST_CASE("where numbers would break a table becomes several") {
  Table table({{"run"}, {"age", Align::right}, {"size", Align::right}});
  table.add_row({"runs/study", "19 min 17 s", "326 kB"});
  CHECK(folded_or_split(table, 1, 28, false) ==
        "run              age    size\n"
        "runs/    19 min 17 s  326 kB\n"
        "study\n");
  CHECK(folded_or_split(table, 1, 24, false) ==
        "run                 age\n"
        "runs/study  19 min 17 s\n"
        "\n"
        "run           size\n"
        "runs/study  326 kB\n");
}

TEST_CASE("where not even names and one column have room each cell stands behind the name of its column") {
  Table table({{"neuron"}, {"cos", Align::right}, {""}, {"towards"}});
  table.add_row({"0.84", "−0.24 [−0.44, +0.04]", "", "e 0.48 · f 0.45"});
  table.highlight_last_row();
  table.add_row({"0.31", "−0.12", "x", "activation_of_many_parts"});
  const std::string text =
      "neuron: 0.84\n"
      "cos: −0.24\n"
      "  [−0.44,\n"
      "  +0.04]\n"
      "towards: e\n"
      "  0.48 · f\n"
      "  0.45\n"
      "\n"
      "neuron: 0.31\n"
      "cos: −0.12\n"
      "x\n"
      "towards:\n"
      "  activation_\n"
      "  of_many_\n"
      "  parts\n";
  CHECK_FALSE(keeps_words(table, 13));
  CHECK(folded(table, 13, false) == text);
  CHECK(split(table, 1, 13, false) == text);
  CHECK(stacked(table, 13, true).substr(0, 21) == "\033[1mneuron: 0.84\033[0m\n");
  CHECK(stacked(table, 0, false).find("cos: −0.24 [−0.44, +0.04]\n") != std::string::npos);
}

TEST_CASE("a number is never broken, whatever the width") {
  Table table({{"variant"}, {"difference", Align::right}, {"parameters", Align::right}, {"share", Align::right}, {"what it takes"}});
  table.add_row({"kind=gated+activation=silu", "−12.5 [−15.0, −10.0)", "1,234,567", "13.7 %", "e −0.46 · f 0.72"});
  table.add_row({"relu", "+1.0 (+0.5, +2.0]", "34", "< 0.1 %", "␣or␣ (3)  4.8"});
  table.add_row({"relu+lr=1e_200", "×2.2e+47", "34", "< 0.1 %", ""});
  for (int width = 15; width <= 130; ++width) {
    for (const auto& text : {folded(table, width, false), split(table, 1, width, false), folded_or_split(table, 1, width, false)}) {
      INFO(width << "\n" << text);
      CHECK(widest_line(text) <= width);
      for (const char* number : {"−12.5", "[−15.0,", "−10.0)", "1,234,567", "13.7", "+1.0", "(+0.5,", "+2.0]", "−0.46", "0.72", "4.8",
                                 "1e_200", "2.2e+47", "difference", "parameters"})
        CHECK(text.find(number) != std::string::npos);
    }
  }
}

TEST_CASE("a line of numbers is cut at blanks and keeps those between") {
  CHECK(cut_at_blanks("  x   0.10 -0.10  0.30", 14, 4) == std::vector<std::string>{"  x   0.10", "    -0.10", "    0.30"});
  CHECK(cut_at_blanks("  x   0.10 -0.10  0.30", 80, 4) == std::vector<std::string>{"  x   0.10 -0.10  0.30"});
  CHECK(cut_at_blanks("  x   0.10 -0.10  0.30", 0, 4).size() == 1);
  CHECK(cut_at_blanks("a_very_long_word that", 8, 2) == std::vector<std::string>{"a_very_long_word", "  that"});
}

TEST_CASE("nothing is lost at any width, and no line is wider") {
  for (int width = 13; width <= 130; ++width) {
    INFO(width);  // five columns of one letter need 13
    for (const auto& text : {split(wide(), 1, width, false), folded(wide(), width, false)}) {
      CHECK(widest_line(text) <= width);
      std::size_t verdicts = 0;
      for (const char c : text) verdicts += c == '[';
      CHECK(verdicts == 1);
    }
    // Read down its columns, every cell is there: a table of one row and one column says so plainly.
    Table one({{"variant"}, {"verdict"}});
    one.add_row({"", "no meaningful difference, of kind=gated+activation=silu"});
    CHECK(without_blanks(folded(one, width, false)).find("nomeaningfuldifference,ofkind=gated+activation=silu") != std::string::npos);
  }
}

TEST_CASE("a paragraph that goes on stands further in") {
  CHECK(indented("  one two three\nfour\n", 10, 2) == "  one two\n    three\nfour\n");
  CHECK(indented("x = a_very_long_word\n", 8, 4) == "x =\n    a_very_long_word\n");
}

TEST_CASE("blocks stand beside each other where there is room") {
  const std::vector<Block> blocks = {block_of({"aaaa", "a"}), block_of({"bbbb"}), block_of({"cc", "", "c"})};
  CHECK(beside_each_other(blocks, 11) == "aaaa   bbbb\na\n\ncc\n\nc\n");
  CHECK(beside_each_other(blocks, 10) == "aaaa\na\n\nbbbb   cc\n\n       c\n");
  CHECK(beside_each_other(blocks, 80) == "aaaa   bbbb   cc\na\n              c\n");
  CHECK(beside_each_other({{{styled("xy", Style::cyan, true)}, 2}, block_of({"z"})}, 80) == "\033[36mxy\033[0m   z\n");
}
