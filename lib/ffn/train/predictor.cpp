#include "ffn/train/predictor.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/data/function.hpp"
#include "ffn/data/images.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/table.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/trained.hpp"

namespace ffn {

namespace {

struct NumberedRows {
  ExampleSet examples;
  std::vector<std::int64_t> numbers;  ///< in the file; empty: one after the other
};

// One overload per task that reads rows of a file.
struct RowsOfFile {
  const RunConfig& config;
  const TensorFile& weights;
  const std::string& file;

  ExampleSet operator()(TableConfig table) const {
    table.file = file;
    return trained_table(weights.metadata).examples(table);
  }
  ExampleSet operator()(const FunctionConfig& function) const { return FunctionTask(function, data_seeds({config})).rows_of(file); }
  ExampleSet operator()(const ImagesConfig&) const { return images_of(file, weights.metadata); }
  template <class Other>
  ExampleSet operator()(const Other&) const {
    throw UsageError("a run of task.kind=" + std::string(Other::kKind) + " reads no rows of a file",
                     "without a file its validation examples are predicted; `ffn-train inspect RUN --trace` shows one that is typed");
  }
};

NumberedRows held_out_rows(const RunConfig& config, const TensorFile& weights) {
  const auto identity = weights.metadata.find("identity");
  if (identity == weights.metadata.end() || run_identity(config) != identity->second)
    throw DataError("the data of this run is not what it was trained on, so its held-out rows are not known",
                    "put the file back, or name one with rows to predict");
  const auto task = make_task(config.task, data_seeds({config}));
  NumberedRows out{task->validation(config.train.most_eval_examples()), {}};
  for (std::int64_t i = 0; i < out.examples.count; ++i) out.numbers.push_back(task->row_number(0, i));
  return out;
}

void to_probabilities(std::vector<double>& outputs) {
  const double most = *std::max_element(outputs.begin(), outputs.end());
  double sum = 0;
  for (double& x : outputs) sum += x = std::exp(x - most);
  for (double& x : outputs) x /= sum;
}

}  // namespace

std::size_t Predictions::predicted_class(std::size_t row) const {
  return static_cast<std::size_t>(std::max_element(values[row].begin(), values[row].end()) - values[row].begin());
}

std::size_t Predictions::num_labelled() const {
  return static_cast<std::size_t>(std::count_if(actual.begin(), actual.end(), [](const auto& row) { return !row.empty(); }));
}

std::optional<double> Predictions::accuracy() const {
  if (num_labelled() == 0 || !of_classes()) return {};
  double right = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    right += !actual[row].empty() && static_cast<double>(predicted_class(row)) == actual[row][0];
  return right / static_cast<double>(num_labelled());
}

std::optional<double> Predictions::rmse() const {
  if (num_labelled() == 0 || of_classes()) return {};
  double sum = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t i = 0; i < actual[row].size(); ++i)
      sum += std::pow(values[row][i] - actual[row][i], 2) / static_cast<double>(actual[row].size());
  }
  return std::sqrt(sum / static_cast<double>(num_labelled()));
}

Predictions predict(const RunConfig& config, const TensorFile& weights, const std::string& file) {
  const TaskShape shape = trained_shape(config.task, weights.metadata);
  if (shape.tokens)
    throw UsageError("this run predicts tokens, not rows", writes_text(config.task)
                                                               ? "`ffn-train sample RUN` goes on with a text"
                                                               : "`ffn-train inspect RUN --trace` shows what it answers to one example");
  if (!file.empty() && !path_exists(file)) throw DataError("no file at " + file, "name one with the rows to predict");
  const NumberedRows rows =
      file.empty() ? held_out_rows(config, weights) : NumberedRows{std::visit(RowsOfFile{config, weights, file}, config.task), {}};
  const ExampleSet& set = rows.examples;
  const auto* table = std::get_if<TableConfig>(&config.task);
  const TrainedTable trained = table ? trained_table(weights.metadata) : TrainedTable();

  Predictions out;
  const auto width = static_cast<std::size_t>(shape.num_classes);
  if (shape.target == Target::classes) {
    out.classes = trained.columns.target.values;
    for (std::size_t i = out.classes.size(); i < width; ++i) out.classes.push_back(std::to_string(i));
  }
  out.are_probabilities = std::holds_alternative<CrossEntropy>(config.loss());
  const TrainedNetwork network(config, shape, weights);
  constexpr std::int64_t kAtOnce = 1024;
  for (std::int64_t first = 0; first < set.count; first += kAtOnce) {
    ExampleSet part;
    part.count = std::min(kAtOnce, set.count - first);
    part.vectors.assign(set.vectors.begin() + first * shape.input_width, set.vectors.begin() + (first + part.count) * shape.input_width);
    const auto outputs = network.outputs(part);
    for (std::int64_t i = 0; i < part.count; ++i) {
      const auto at = outputs.begin() + i * shape.num_classes;
      auto& values = out.values.emplace_back(at, at + shape.num_classes);
      if (out.are_probabilities) to_probabilities(values);
      if (shape.target == Target::vectors) {
        for (double& x : values) x = trained.target.back(x);
      }
      const auto example = static_cast<std::size_t>(first + i);
      out.rows.push_back(rows.numbers.empty() ? first + i + 1 : rows.numbers[example]);
      auto& actual = out.actual.emplace_back();
      if (!set.labels.empty() && set.labels[example] >= 0) actual.push_back(static_cast<double>(set.labels[example]));
      if (set.values.empty() || !std::isfinite(set.values[example * width])) continue;
      for (std::size_t j = 0; j < width; ++j) actual.push_back(trained.target.back(static_cast<double>(set.values[example * width + j])));
    }
  }
  return out;
}

}  // namespace ffn
