// Random tokens; a formula gives the class at each position.
#pragma once

#include "ffn/config/sequence_task.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const SequenceConfig& c) { return {true, c.alphabet, c.length, sequence_task(c).classes}; }

class SequenceTask final : public Task {
 public:
  SequenceTask(const SequenceConfig& config, std::vector<DataSeeds> seeds)
      : Task(std::move(seeds)), spec_(sequence_task(config)), shape_{true, config.alphabet, config.length, spec_.classes} {
    for (std::size_t run = 0; run < static_cast<std::size_t>(num_runs()); ++run) fixed_.push_back(spec_.draw_fixed(this->seeds(run).train));
  }
  TaskShape shape() const override { return shape_; }
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  DrawnBatches drawn_batches() const override { return DrawnSequences{&spec_, &fixed_}; }
  ExampleSet validation(std::int64_t max_examples) const override;

 private:
  void write_random(std::size_t run, std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) const;

  SequenceTaskSpec spec_;
  TaskShape shape_;
  std::vector<std::vector<double>> fixed_;  // (R, alphabet)
};

}  // namespace ffn
