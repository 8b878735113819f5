// ffn-train coord-check: measure how far outputs move in the first steps, by hidden width.
#include "ffn/train/coord_check.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/terminal_chart.hpp"

namespace ffn::app {

namespace {

struct CoordOptions {
  std::string widths = "64,256,1024,4096";
  std::int64_t steps = 5;
};

std::vector<std::int64_t> widths_of(const std::string& text) {
  std::vector<std::int64_t> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const bool digits = !word.empty() && word.size() < 8 && word.find_first_not_of("0123456789") == std::string::npos;
    out.push_back(digits ? std::stoll(word) : 0);
    if (out.back() < 1 || out.back() > 1 << 20)
      throw UsageError("--widths " + text + ": expected widths from 1 to 1048576, got " + shortened(word),
                       "for example --widths 64,256,1024");
  }
  return out;
}

/// The mean over the seeds at each width, for one variant.
struct CoordLine {
  std::string name;
  std::vector<WidthChange> widths;
};

CoordLine line_of(const Variant& variant, const std::vector<std::int64_t>& seeds, const CoordOptions& options) {
  CoordLine line{variant.shown(), {}};
  for (const auto width : widths_of(options.widths)) line.widths.push_back({width, 0, 0});
  for (const auto seed : seeds) {
    RunConfig config = variant.config;
    config.seed = seed;
    const auto found = coord_check(config, widths_of(options.widths), options.steps);
    for (std::size_t i = 0; i < found.size(); ++i) {
      line.widths[i].change += found[i].change / static_cast<double>(seeds.size());
      line.widths[i].loss += found[i].loss / static_cast<double>(seeds.size());
    }
  }
  return line;
}

void print_chart(const std::vector<CoordLine>& lines, std::int64_t steps, const CommonOptions& common) {
  report::TerminalChart chart{
      "mean |Δoutput| after " + format_counted(static_cast<std::size_t>(steps), "step") + ", by d_ff", {}, {}, {}, {}};
  std::vector<double> widths, changes;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    report::ChartLine drawn{report::series_ink(i), {}};
    for (const auto& [d_ff, change, loss] : lines[i].widths) {
      widths.push_back(static_cast<double>(d_ff));
      changes.push_back(change);
      drawn.points.push_back({widths.back(), change, change, change});
    }
    chart.lines.push_back(std::move(drawn));
  }
  chart.x = report::axis_for(widths, report::AxisKind::log2);
  chart.y = report::axis_for(changes, report::AxisKind::log10);
  constexpr int kColumns = 60, kRows = 12;
  for (const auto& line : report::drawn(chart, kColumns, kRows, color_enabled(color_mode(common), 1)).lines) std::cout << line << "\n";
}

int check(const CoordOptions& options, const CommonOptions& common) {
  auto document = load_with_overrides(common.config, common.overrides);
  refuse_program(document, "coord-check");
  if (!is_study(document)) {
    const Json seed = document.tree().value("seed", Json(0));
    document.tree()["seeds"] = Json::array({seed});
  }
  const auto study = read_study(document, common.config);
  std::vector<CoordLine> lines;
  for (const auto& variant : study.variants) lines.push_back(line_of(variant, study.seeds, options));
  if (common.json) {
    Json out = Json::array();
    for (const auto& line : lines) {
      for (const auto& [d_ff, change, loss] : line.widths)
        out.push_back({{"variant", line.name}, {"d_ff", d_ff}, {"change", change}, {"val/loss", loss}});
    }
    print_json(out);
    return 0;
  }
  Table table({{"variant", Align::left}, {"d_ff", Align::right}, {"mean |Δoutput|", Align::right}, {"val/loss", Align::right}});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (const auto& [d_ff, change, loss] : lines[i].widths)
      table.add_row({std::string(1, report::series_letter(i)) + "  " + lines[i].name, format_count(d_ff), format_significant(change, 3),
                     format_significant(loss, 3)});
  }
  print_table(table, common);
  std::cout << "\n";
  print_chart(lines, options.steps, common);
  return 0;
}

}  // namespace

void add_coord_check(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("coord-check", "measure how far outputs move in the first steps, by hidden width");
  auto options = std::make_shared<CoordOptions>();
  add_config_options(command, common);
  command.option("--widths", options->widths, "hidden widths d_ff to try").type("N,N,…").shows_default();
  command.option("--steps", options->steps, "optimizer steps before outputs are compared").integer_in(1, 1 << 20).shows_default();
  add_output_options(command, common);
  command.run([&common, options] {
    require_config(common);
    return check(*options, common);
  });
}

}  // namespace ffn::app
