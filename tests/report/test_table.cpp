#include <stdexcept>

#include "ffn/report/table.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

Table activation_table() {
  Table table({{"activation"}, {"val/loss", Align::right}, {"verdict"}});
  table.add_row({"relu", "0.5", "reference"});
  table.add_row({"gelu", "0.25", "better"});
  table.highlight_last_row();
  table.add_row({"σ", "12.125", ""});
  return table;
}

}  // namespace

TEST_CASE("a table for the terminal lines up, also with letters of several bytes, and ends no line in blanks") {
  CHECK(activation_table().terminal_text(false) ==
        "activation  val/loss  verdict\n"
        "relu             0.5  reference\n"
        "gelu            0.25  better\n"
        "σ             12.125\n");
}

TEST_CASE("colour makes the header and a highlighted row bold and moves nothing") {
  CHECK(activation_table().terminal_text(true) ==
        "\033[1mactivation  val/loss  verdict\033[0m\n"
        "relu             0.5  reference\n"
        "\033[1mgelu            0.25  better\033[0m\n"
        "σ             12.125\n");
}

TEST_CASE("a table is Markdown with alignment, and a cell cannot break it") {
  Table table = activation_table();
  table.add_row({"a|b", "x\ny", "*"});

  CHECK(table.markdown() ==
        "| activation | val/loss | verdict |\n"
        "|---|---:|---|\n"
        "| relu | 0.5 | reference |\n"
        "| **gelu** | **0.25** | **better** |\n"
        "| σ | 12.125 |  |\n"
        "| a\\|b | x y | * |\n");
}

TEST_CASE("a table is CSV as RFC 4180 has it") {
  Table table({{"name"}, {"a \"quoted\", header", Align::right}});
  table.add_row({"plain", "1,5"});
  table.add_row({"two\nlines", "say \"x\""});
  table.highlight_last_row();

  CHECK(table.csv() ==
        "name,\"a \"\"quoted\"\", header\"\r\n"
        "plain,\"1,5\"\r\n"
        "\"two\nlines\",\"say \"\"x\"\"\"\r\n");
}

TEST_CASE("control characters in a cell do not reach the terminal") {
  Table table({{"name"}});
  table.add_row({"a\033[2Jb\tc\nd\x7f!"});

  CHECK(table.terminal_text(false) == "name\na?[2Jb c d?!\n");
}

TEST_CASE("a table without rows is its header") {
  const Table table({{"a"}, {"b", Align::right}});

  CHECK(table.num_rows() == 0);
  CHECK(table.terminal_text(false) == "a  b\n");
  CHECK(table.markdown() == "| a | b |\n|---|---:|\n");
  CHECK(table.csv() == "a,b\r\n");
}

TEST_CASE("a row of another length is refused with both numbers") {
  Table table({{"a"}, {"b"}});
  std::string text;
  try {
    table.add_row({"1", "2", "3"});
  } catch (const std::invalid_argument& error) {
    text = error.what();
  }
  CHECK(text == "a row of 3 cells in a table of 2 columns");
  CHECK_THROWS_AS(table.highlight_last_row(), std::invalid_argument);
}
