// A formula over random inputs: the task of a line of JSON.
#pragma once

#include "ffn/config/function_task.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

TaskShape shape_of(const FunctionConfig& config);

/// A note that targets far from 1 in size are not standardised, and what to write; empty for other targets.
std::string describe_targets(const FunctionConfig& config);

class FunctionTask final : public Task {
 public:
  /// Throws DataError where the formula gives no class, or no finite number, for inputs that can be drawn.
  FunctionTask(const FunctionConfig& config, std::vector<DataSeeds> seeds);
  TaskShape shape() const override { return shape_; }
  /// Every input is drawn for itself, or a pattern that is not held out.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  DrawnBatches drawn_batches() const override { return DrawnInputs{&config_, &spec_, held_out_, &patterns_}; }
  /// The patterns held out; or every pattern once, or an even grid of one uniform number, if that fits; or fresh draws.
  ExampleSet validation(std::int64_t max_examples) const override;
  /// Rows of a table with a column for each number of an input, "x" or "x[0]", "x[1]", as the formula sees them. Throws DataError.
  ExampleSet rows_of(const std::string& file) const;

 private:
  using Numbers = std::vector<std::vector<double>>;  // (examples, size) per input, as the formula sees them

  Numbers room(std::int64_t examples) const;
  Numbers drawn(std::uint64_t seed, std::int64_t step, std::int64_t examples) const;
  void set_pattern(std::int64_t pattern, std::int64_t example, Numbers& numbers) const;
  void write(const Numbers& numbers, std::int64_t examples, const BatchPlace& to) const;
  void write_groups(const Numbers& numbers, std::int64_t examples, std::int64_t* to) const;
  void write_inputs(const Numbers& numbers, std::int64_t examples, float* to) const;
  static std::vector<double> values_of(const TaskFormula& formula, const Numbers& numbers, std::int64_t examples);
  [[noreturn]] void fail(const Numbers& numbers, std::int64_t example, double result, const std::string& key) const;
  std::uint64_t stream_number(std::int64_t step, std::int64_t purpose) const;
  void add_jitter(std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) const;

  FunctionConfig config_;
  FunctionTaskSpec spec_;
  TaskShape shape_;
  std::int64_t held_out_ = 0;                         // patterns of each run
  std::vector<std::vector<std::uint32_t>> patterns_;  // of each run, those held out first
};

}  // namespace ffn
