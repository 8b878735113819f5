// Random bits; each position's label is the XOR of the bits at two earlier offsets.
#pragma once

#include "ffn/tasks/task.hpp"

namespace ffn {

class SequenceXorTask final : public Task {
 public:
  SequenceXorTask(const SequenceXorConfig& config, std::vector<DataSeeds> seeds) : config_(config), seeds_(std::move(seeds)) {}
  TaskShape shape() const override { return {true, 2, config_.length, 2}; }
  /// inputs: (R, B, T) in {0, 1}; labels: (R, B·T), -1 at positions before the larger offset.
  Batch train_batch(std::int64_t step, std::int64_t batch_size) const override;
  Batch validation(std::int64_t max_examples) const override;

 private:
  Batch sample(std::int64_t step, std::int64_t examples, std::uint64_t DataSeeds::*role) const;

  SequenceXorConfig config_;
  std::vector<DataSeeds> seeds_;
};

}  // namespace ffn
