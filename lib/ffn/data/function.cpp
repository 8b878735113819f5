#include "ffn/data/function.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/table_columns.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kMostGroups = 65536;

}  // namespace

std::string describe_targets(const FunctionConfig& config) {
  if (config.target.empty()) return "";
  const auto values = FunctionTask(config, {{0, 1}}).validation(1024).values;
  const auto count = static_cast<double>(values.size());
  double mean = 0, squares = 0;
  for (const double x : values) mean += x / count;
  for (const double x : values) squares += (x - mean) * (x - mean) / count;
  const double deviation = std::sqrt(squares);
  constexpr double kLarge = 100, kSmall = 0.01;  // a network starts with outputs near 0 and 1
  if (deviation == 0 || (deviation >= kSmall && std::abs(mean) + deviation <= kLarge)) return "";
  const auto shown = [](double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", x);
    return std::string(text);
  };
  return "targets have mean " + shown(mean) + " and deviation " + shown(deviation) +
         ", and are not standardised: networks learn numbers near 1 best; write task.target=" +
         shell_word("((" + config.target + ") - " + shown(mean) + ") / " + shown(deviation));
}

TaskShape shape_of(const FunctionConfig& config) {
  const FunctionTaskSpec spec = function_task(config);
  return {false, spec.input_width(), 1, spec.outputs, target_of(TaskConfig(config))};
}

FunctionTask::FunctionTask(const FunctionConfig& config, std::vector<DataSeeds> seeds)
    : Task(std::move(seeds)), config_(config), spec_(function_task(config)), shape_(shape_of(config)) {
  if (config.held_out > 0) {
    const std::int64_t count = spec_.patterns().value();
    held_out_ = static_cast<std::int64_t>(config.held_out * static_cast<double>(count));
    for (std::int64_t run = 0; run < num_runs(); ++run) {
      auto& all = patterns_.emplace_back(static_cast<std::size_t>(count));
      std::iota(all.begin(), all.end(), 0u);
      RandomStream random(this->seeds(static_cast<std::size_t>(run)).validation, DrawnInputs::kPattern);
      for (std::size_t i = 0; i < static_cast<std::size_t>(held_out_); ++i)
        std::swap(all[i], all[i + random.below(static_cast<std::uint32_t>(all.size() - i))]);
    }
  }
  validation(1024);  // a formula that is undefined fails before training rather than in it
}

FunctionTask::Numbers FunctionTask::room(std::int64_t examples) const {
  Numbers out;
  for (const auto& input : spec_.inputs) out.emplace_back(static_cast<std::size_t>(examples * input.size));
  return out;
}

// Streams of one step: none shifts another when it is switched off.
std::uint64_t FunctionTask::stream_number(std::int64_t step, std::int64_t purpose) const {
  return static_cast<std::uint64_t>(step * (DrawnInputs::kFirstInput + static_cast<std::int64_t>(spec_.inputs.size())) + purpose);
}

FunctionTask::Numbers FunctionTask::drawn(std::uint64_t seed, std::int64_t step, std::int64_t examples) const {
  Numbers numbers = room(examples);
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const FunctionInput& input = spec_.inputs[i];
    RandomStream random(seed, stream_number(step, DrawnInputs::kFirstInput + static_cast<std::int64_t>(i)));
    for (double& number : numbers[i]) {
      // In float32, which the network sees.
      if (input.is_discrete()) number = random.below(static_cast<std::uint32_t>(input.values));
      else if (input.kind == FunctionInput::Kind::uniform) number = static_cast<float>(random.uniform(input.first, input.last));
      else number = static_cast<float>(input.first + input.last * random.normal());
    }
  }
  return numbers;
}

void FunctionTask::set_pattern(std::int64_t pattern, std::int64_t example, Numbers& numbers) const {
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const FunctionInput& input = spec_.inputs[i];
    for (std::int64_t j = 0; j < input.size; ++j) {
      numbers[i][static_cast<std::size_t>(example * input.size + j)] = static_cast<double>(pattern % input.values);
      pattern /= input.values;
    }
  }
}

std::vector<double> FunctionTask::values_of(const TaskFormula& formula, const Numbers& numbers, std::int64_t examples) {
  std::vector<const double*> inputs;
  for (const auto& input : numbers) inputs.push_back(input.data());
  std::vector<double> out(static_cast<std::size_t>(examples * formula.width()));
  formula.evaluate(inputs, examples, out.data());
  return out;
}

void FunctionTask::fail(const Numbers& numbers, std::int64_t example, double result, const std::string& key) const {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < spec_.inputs.size() && values.size() < 8; ++i) {
    const FunctionInput& input = spec_.inputs[i];
    for (std::int64_t j = 0; j < input.size && values.size() < 8; ++j) {
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", numbers[i][static_cast<std::size_t>(example * input.size + j)]);
      values.push_back(input.name + (input.size > 1 ? "[" + std::to_string(j) + "]" : "") + " = " + number);
    }
  }
  char shown[32];
  std::snprintf(shown, sizeof shown, "%.6g", result);
  const bool is_class = key == "label";
  const bool may_mean_power = std::isnan(result) && (is_class ? config_.label : config_.target).find('^') != std::string::npos;
  throw DataError("task." + key + " is " + shown + " for " + join(values) + "; " +
                      (is_class         ? "a label is a whole number from 0 to " + std::to_string(shape_.num_classes - 1)
                       : key == "group" ? "a group is a whole number from 0 to " + std::to_string(kMostGroups - 1)
                                        : "it has to be finite"),
                  may_mean_power ? "'^' is exclusive or, of whole numbers; a power is written pow(x, n)"
                  : is_class     ? "set task.classes, or change the formula"
                                 : "change the formula or the inputs' range");
}

void FunctionTask::write_inputs(const Numbers& numbers, std::int64_t examples, float* to) const {
  if (spec_.features) {
    const std::int64_t width = spec_.features->width();
    const auto results = values_of(*spec_.features, numbers, examples);
    for (std::int64_t i = 0; i < examples * width; ++i) {
      to[i] = static_cast<float>(results[static_cast<std::size_t>(i)]);
      if (!std::isfinite(to[i])) fail(numbers, i / width, results[static_cast<std::size_t>(i)], "features");
    }
    return;
  }
  for (std::int64_t e = 0; e < examples; ++e) {
    for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
      const FunctionInput& input = spec_.inputs[i];
      for (std::int64_t j = 0; j < input.size; ++j) {
        const double number = numbers[i][static_cast<std::size_t>(e * input.size + j)];
        if (input.kind == FunctionInput::Kind::integer) {
          for (std::int64_t value = 0; value < input.values; ++value) *to++ = static_cast<double>(value) == number ? 1.0f : 0.0f;
        } else {
          *to++ = static_cast<float>(input.kind == FunctionInput::Kind::bit ? 2 * number - 1 : number);
        }
      }
    }
  }
}

void FunctionTask::write_groups(const Numbers& numbers, std::int64_t examples, std::int64_t* to) const {
  const auto results = values_of(*spec_.group, numbers, examples);
  for (std::int64_t i = 0; i < examples; ++i) {
    const double group = results[static_cast<std::size_t>(i)];
    if (!(group >= 0 && group < static_cast<double>(kMostGroups) && group == std::nearbyint(group))) fail(numbers, i, group, "group");
    to[i] = static_cast<std::int64_t>(group);
  }
}

void FunctionTask::write(const Numbers& numbers, std::int64_t examples, const BatchPlace& to) const {
  write_inputs(numbers, examples, to.vectors);
  if (to.groups) write_groups(numbers, examples, to.groups);
  const std::int64_t width = spec_.formula->width();
  const auto results = values_of(*spec_.formula, numbers, examples);
  for (std::int64_t i = 0; i < examples * width; ++i) {
    const double result = results[static_cast<std::size_t>(i)];
    if (shape_.target == Target::vectors) {
      if (!std::isfinite(static_cast<float>(result))) fail(numbers, i / width, result, "target");
      to.values[i] = static_cast<float>(result);
    } else {
      if (!(result >= 0 && result < static_cast<double>(shape_.num_classes) && result == std::nearbyint(result)))
        fail(numbers, i, result, "label");
      to.labels[i] = static_cast<std::int64_t>(result);
    }
  }
}

void FunctionTask::add_jitter(std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) const {
  if (config_.jitter == 0) return;
  RandomStream random(seed, stream_number(step, DrawnInputs::kJitter));
  for (std::int64_t i = 0; i < examples * shape_.input_width; ++i) to.vectors[i] += static_cast<float>(config_.jitter * random.normal());
}

void FunctionTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  const auto seed = seeds(run).train;
  if (held_out_ > 0) {
    Numbers numbers = room(batch_size);
    RandomStream random(seed, stream_number(step, DrawnInputs::kPattern));
    const auto& all = patterns_[run];
    const auto trained = static_cast<std::uint32_t>(static_cast<std::int64_t>(all.size()) - held_out_);
    for (std::int64_t i = 0; i < batch_size; ++i) set_pattern(all[static_cast<std::size_t>(held_out_) + random.below(trained)], i, numbers);
    write(numbers, batch_size, to);
  } else {
    write(drawn(seed, step, batch_size), batch_size, to);
  }
  add_jitter(seed, step, batch_size, to);
  RandomStream random(seed, stream_number(step, DrawnInputs::kNoise));
  if (config_.label_noise > 0) {
    for (std::int64_t i = 0; i < batch_size; ++i) {
      const bool changes = random.uniform() < config_.label_noise;
      const std::int64_t other = 1 + random.below(static_cast<std::uint32_t>(shape_.num_classes - 1));
      if (changes) to.labels[i] = (to.labels[i] + other) % shape_.num_classes;
    }
  }
  if (config_.noise > 0) {
    for (std::int64_t i = 0; i < batch_size * shape_.num_classes; ++i) to.values[i] += static_cast<float>(config_.noise * random.normal());
  }
}

ExampleSet FunctionTask::validation(std::int64_t max_examples) const {
  const auto patterns = spec_.patterns();
  const bool every_pattern = held_out_ == 0 && config_.jitter == 0 && patterns && *patterns <= max_examples;
  const bool grid = config_.jitter == 0 && spec_.inputs.size() == 1 && spec_.inputs[0].kind == FunctionInput::Kind::uniform &&
                    spec_.inputs[0].size == 1 && max_examples > 1;
  const std::int64_t examples = held_out_ > 0 ? std::min(held_out_, max_examples) : every_pattern ? *patterns : max_examples;
  ExampleSet set = empty_set(examples, /*shared=*/every_pattern || grid);
  if (spec_.group) set.groups.resize(static_cast<std::size_t>((set.shared ? 1 : num_runs()) * examples));
  for (std::int64_t r = 0; r < (set.shared ? 1 : num_runs()); ++r) {
    const auto seed = seeds(static_cast<std::size_t>(r)).validation;
    Numbers numbers = held_out_ > 0 || every_pattern || grid ? room(examples) : drawn(seed, 0, examples);
    for (std::int64_t i = 0; i < examples; ++i) {
      if (every_pattern) set_pattern(i, i, numbers);
      else if (held_out_ > 0) set_pattern(patterns_[static_cast<std::size_t>(r)][static_cast<std::size_t>(i)], i, numbers);
      else if (grid) {
        const auto& [low, high] = std::pair(spec_.inputs[0].first, spec_.inputs[0].last);
        numbers[0][static_cast<std::size_t>(i)] =
            static_cast<float>(low + (high - low) * static_cast<double>(i) / static_cast<double>(examples - 1));
      }
    }
    const auto to = place(set, r);
    write(numbers, examples, to);
    add_jitter(seed, 0, examples, to);
  }
  return set;
}

ExampleSet FunctionTask::rows_of(const std::string& file) const {
  DataTable columns;
  for (const auto& input : spec_.inputs) {
    for (std::int64_t j = 0; j < input.size; ++j)
      columns.inputs.push_back({input.name + (input.size > 1 ? "[" + std::to_string(j) + "]" : ""), {}, {}, false});
  }
  TableConfig config;
  config.file = file;
  const DataTable table = read_rows_as(config, columns);
  const auto examples = static_cast<std::int64_t>(table.inputs.at(0).cells.size());
  Numbers numbers = room(examples);
  auto column = table.inputs.begin();
  for (std::size_t i = 0; i < spec_.inputs.size(); ++i) {
    const FunctionInput& input = spec_.inputs[i];
    for (std::int64_t j = 0; j < input.size; ++j, ++column) {
      for (std::int64_t e = 0; e < examples; ++e) {
        const double number = column->cells[static_cast<std::size_t>(e)];
        char shown[32];
        std::snprintf(shown, sizeof shown, "%.6g", number);
        if (input.is_discrete() && !(number >= 0 && number < static_cast<double>(input.values) && number == std::nearbyint(number)))
          throw DataError(file + ": row " + std::to_string(e + 1) + ", column " + column->name + ": " + shown +
                              " is no whole number from 0 to " + std::to_string(input.values - 1),
                          "the task draws it from these; write one of them");
        numbers[i][static_cast<std::size_t>(e * input.size + j)] = input.is_discrete() ? number : static_cast<float>(number);
      }
    }
  }
  ExampleSet out = empty_set(examples, /*shared=*/true);
  write(numbers, examples, place(out, 0));
  return out;
}

}  // namespace ffn
