// A function of one number, to be learned from samples.
#pragma once

#include <utility>
#include <vector>

#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const RegressionConfig&) { return {false, 1, 1, 1, Target::vectors}; }

class RegressionTask final : public Task {
 public:
  RegressionTask(RegressionConfig config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(std::move(config)) {}
  TaskShape shape() const override { return shape_of(config_); }
  /// x ~ U(-1, 1), y = f(x) + noise.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  /// The same even grid for all runs, without noise.
  ExampleSet validation(std::int64_t max_examples) const override;

 private:
  double value(double x) const;

  RegressionConfig config_;
};

}  // namespace ffn
