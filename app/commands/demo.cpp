// ffn-train demo NAME: what courses say about feed-forward layers, with numbers.
#include "ffn/inspect/demo.hpp"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../next_command.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/format.hpp"

namespace ffn::app {

namespace {

constexpr int kChartColumns = 38, kChartRows = 9;

void print_demo(const demo::Demo& shown, const CommonOptions& common) {
  const int width = terminal_width_of(1);
  const auto charset = process_charset();
  const bool color = color_enabled(color_mode(common), 1);
  const auto text = [&](const std::string& words) { return pictures::in_charset(words, charset); };
  const std::string claim = wrapped(shown.claim, width);
  std::cout << text(styled(claim.substr(0, claim.size() - 1), Style::bold, color)) << "\n";
  for (const auto& part : shown.parts) {
    std::cout << "\n" << text(wrapped(part.text, width));
    if (!part.blocks.empty() || part.table || !part.charts.empty()) std::cout << "\n";
    std::vector<Block> blocks;
    for (const auto& lines : part.blocks) {
      blocks.push_back(block_of({}));
      for (const auto& line : lines) {
        for (const auto& piece : wrapped_lines(text(line), width, 5)) blocks.back().lines.push_back(piece);
      }
      blocks.back() = block_of(blocks.back().lines);
    }
    std::cout << beside_each_other(blocks, width);
    if (part.table) std::cout << text(fitted(*part.table, width, color));
    std::vector<Block> charts;
    for (const auto& chart : part.charts) charts.push_back(pictures::drawn(chart, kChartColumns, kChartRows, charset, color));
    std::cout << beside_each_other(charts, width);
  }
  std::cout << "\n" << sentence_and_command("next:", shown.next, STDOUT_FILENO) << "\n";
}

int list_demos(const CommonOptions& common) {
  if (common.json) {
    Json out = Json::array();
    for (const auto& row : demo::demos()) out.push_back({{"demo", row.name}, {"shows", row.doc}});
    print_json(out);
    return 0;
  }
  Table table({{"demo", Align::left}, {"shows", Align::left}});
  for (const auto& row : demo::demos()) table.add_row({row.name, row.doc});
  print_table(table, common);
  return 0;
}

int show(const std::string& name, const CommonOptions& common) {
  if (name.empty()) return list_demos(common);
  std::vector<std::string> names;
  for (const auto& row : demo::demos()) {
    names.push_back(row.name);
    if (name != row.name) continue;
    const auto shown = row.make();
    if (common.json) {
      Json out = {{"demo", row.name}, {"claim", shown.claim}, {"next", shown.next}};
      for (const auto& number : shown.numbers->items()) out[number.key()] = number.value();
      print_json(out);
    } else {
      print_demo(shown, common);
    }
    return 0;
  }
  throw UsageError("no demo '" + name + "'" + did_you_mean(name, names), "there are: " + join(names));
}

}  // namespace

void add_demo(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("demo", "what courses say about feed-forward layers, with numbers");
  auto name = std::make_shared<std::string>();
  command.option("name", *name, "which one; without a name, what there is").type("DEMO");
  add_output_options(command, common);
  command.run([&common, name] { return show(*name, common); });
}

}  // namespace ffn::app
