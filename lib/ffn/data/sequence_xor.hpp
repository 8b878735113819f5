// Random bits; each position's label is the XOR of the bits at two earlier offsets.
#pragma once

#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const SequenceXorConfig& c) { return {true, 2, c.length, 2}; }

class SequenceXorTask final : public Task {
 public:
  SequenceXorTask(const SequenceXorConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(config) {}
  TaskShape shape() const override { return shape_of(config_); }
  /// Tokens in {0, 1}; labels are -1 at positions before the larger offset.
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  DrawnBatches drawn_batches() const override { return DrawnBits{config_.first_offset, config_.second_offset}; }
  ExampleSet validation(std::int64_t max_examples) const override;

 private:
  void write_random(std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) const;

  SequenceXorConfig config_;
};

}  // namespace ffn
