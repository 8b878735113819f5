// n-bit XOR as vectors of ±1.
#pragma once

#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const XorConfig& c) { return {false, c.bits, 1, 2}; }

class XorTask final : public Task {
 public:
  XorTask(const XorConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(config) {}
  TaskShape shape() const override { return shape_of(config_); }
  /// Vectors in {-1, +1} plus jitter; labels: the parity of the +1s, flipped with label_noise.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  DrawnBatches drawn_batches() const override { return DrawnPatterns{config_.bits, config_.label_noise, config_.jitter}; }
  /// Without jitter and while they fit, all 2^bits patterns once; otherwise a sample. Labels are clean.
  ExampleSet validation(std::int64_t max_examples) const override;

 private:
  XorConfig config_;
};

}  // namespace ffn
