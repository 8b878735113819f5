// n-bit XOR as vectors of ±1.
#pragma once

#include "ffn/tasks/task.hpp"

namespace ffn {

class XorTask final : public Task {
 public:
  XorTask(const XorConfig& config, std::vector<DataSeeds> seeds) : config_(config), seeds_(std::move(seeds)) {}
  TaskShape shape() const override { return {false, config_.bits, 1, 2}; }
  /// inputs: (R, B, bits) in {-1, +1} plus jitter; labels: (R, B), the parity of the +1s, flipped with label_noise.
  Batch train_batch(std::int64_t step, std::int64_t batch_size) const override;
  /// Without jitter and while they fit, all 2^bits patterns once; otherwise a sample. Labels are clean.
  Batch validation(std::int64_t max_examples) const override;

 private:
  XorConfig config_;
  std::vector<DataSeeds> seeds_;
};

}  // namespace ffn
