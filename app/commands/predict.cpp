// ffn-train predict RUN [FILE]: a class or a number for every row.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/format.hpp"
#include "ffn/train/predictor.hpp"

namespace ffn::app {

namespace {

struct PredictOptions {
  std::string run, file, out;
  bool best = false;
};

std::string seven_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", x);
  return text;
}

// Columns of the target's numbers: "predicted", or "predicted[0]" of several.
std::string numbered(const std::string& name, std::size_t index, std::size_t count) {
  return count == 1 ? name : name + "[" + std::to_string(index) + "]";
}

std::string csv_of(const Predictions& p) {
  const std::size_t width = p.values.at(0).size();
  std::vector<Column> columns{{"row"}};
  const auto add = [&](const std::string& name) {
    for (std::size_t i = 0; i < (p.of_classes() ? 1 : width); ++i) columns.push_back({numbered(name, i, p.of_classes() ? 1 : width)});
  };
  add("predicted");
  for (const auto& name : p.classes) columns.push_back({(p.are_probabilities ? "p(" : "output(") + name + ")"});
  if (p.num_labelled() > 0) add("actual");
  Table table(columns);
  for (std::size_t row = 0; row < p.rows.size(); ++row) {
    std::vector<std::string> cells{std::to_string(p.rows[row])};
    if (p.of_classes()) cells.push_back(p.classes[p.predicted_class(row)]);
    for (const double x : p.values[row]) cells.push_back(seven_digits(x));
    for (const double x : p.actual[row]) cells.push_back(p.of_classes() ? p.classes[static_cast<std::size_t>(x)] : seven_digits(x));
    cells.resize(columns.size());
    table.add_row(std::move(cells));
  }
  return table.csv();
}

// (actual, predicted) → rows
std::vector<std::vector<std::int64_t>> confusion(const Predictions& p) {
  std::vector<std::vector<std::int64_t>> counts(p.classes.size(), std::vector<std::int64_t>(p.classes.size()));
  for (std::size_t row = 0; row < p.rows.size(); ++row) {
    if (!p.actual[row].empty()) ++counts[static_cast<std::size_t>(p.actual[row][0])][p.predicted_class(row)];
  }
  return counts;
}

// How good they are; nothing where the file does not say what is right.
std::string summary(const Predictions& p, const std::string& what) {
  if (p.num_labelled() == 0) return "";
  if (!p.of_classes()) return "RMSE " + format_significant(*p.rmse(), 4) + " on " + what + "\n";
  std::string out = "accuracy " + format_significant(*p.accuracy(), 4) + " on " + what + "\n";
  constexpr std::size_t kMostShown = 20;
  if (p.classes.size() > kMostShown) return out;
  std::vector<Column> columns{{"actual \\ predicted"}};
  for (const auto& name : p.classes) columns.push_back({name, Align::right});
  Table table(columns);
  const auto counts = confusion(p);
  for (std::size_t actual = 0; actual < counts.size(); ++actual) {
    std::vector<std::string> cells{p.classes[actual]};
    for (const auto count : counts[actual]) cells.push_back(std::to_string(count));
    table.add_row(std::move(cells));
  }
  return out + table.terminal_text(false);
}

Json json_of(const Predictions& p) {
  Json rows = Json::array();
  const auto numbers = [](const std::vector<double>& values) { return values.size() == 1 ? Json(values[0]) : Json(values); };
  for (std::size_t row = 0; row < p.rows.size(); ++row) {
    Json out = {{"row", p.rows[row]}};
    if (p.of_classes()) {
      out["predicted"] = p.classes[p.predicted_class(row)];
      for (std::size_t i = 0; i < p.classes.size(); ++i)
        out[p.are_probabilities ? "probabilities" : "outputs"][p.classes[i]] = p.values[row][i];
      if (!p.actual[row].empty()) out["actual"] = p.classes[static_cast<std::size_t>(p.actual[row][0])];
    } else {
      out["predicted"] = numbers(p.values[row]);
      if (!p.actual[row].empty()) out["actual"] = numbers(p.actual[row]);
    }
    rows.push_back(std::move(out));
  }
  Json out = {{"rows", std::move(rows)}};
  if (const auto accuracy = p.accuracy()) out["accuracy"] = *accuracy, out["classes"] = p.classes, out["confusion"] = confusion(p);
  if (const auto rmse = p.rmse()) out["rmse"] = *rmse;
  return out;
}

int predict_rows(const PredictOptions& options, const CommonOptions& common) {
  const RunDirectory directory = named_run(options.run);
  const auto weights = options.best ? directory.best_path() : directory.weights_path();
  const auto config = trained_config(directory, weights);
  std::optional<NamedFile> out;
  if (!options.out.empty())
    out.emplace(expand_home(options.out), FileKind{"table of predictions", "row,predicted", FileKind::Place::beginning});
  const auto predictions = predict(config, read_safetensors(weights), expand_home(options.file));
  if (out) out->write(csv_of(predictions));
  if (common.json) return print_json(json_of(predictions)), 0;
  const bool held_out = options.file.empty();
  const auto said = summary(
      predictions, format_counted(predictions.num_labelled(), held_out                                               ? "held-out row"
                                                              : predictions.num_labelled() < predictions.rows.size() ? "labelled row"
                                                                                                                     : "row"));
  if (!out && !held_out) std::cout << csv_of(predictions);
  const bool is_table_shown = (!out && !held_out) || (out && out->is_stdout());
  (is_table_shown ? std::cerr : std::cout) << printable(said);
  return 0;
}

}  // namespace

void add_predict(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("predict", "predict rows of a file, or the rows that a run held out");
  auto options = std::make_shared<PredictOptions>();
  command.option("run", options->run, "run directory").required().type("RUN");
  command.option("file", options->file, "table with the trained columns in any order, or images (IDX); default: the held-out rows")
      .type("FILE");
  command.flag("--best", options->best, "use the best weights (keep=best), not the last");
  command.option("-o,--out", options->out, "write the predictions to this CSV file").type("FILE");
  add_output_options(command, common);
  command.run([&common, options] { return predict_rows(*options, common); });
}

}  // namespace ffn::app
