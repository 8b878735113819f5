// Random facts: a value for each key.
#pragma once

#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const FactsConfig& c) { return {true, c.facts, 1, c.values}; }

/// Every epoch has each fact, or each draw, once, in an order of its own; validation has all facts.
class FactsTask final : public Task {
 public:
  FactsTask(const FactsConfig& config, std::vector<DataSeeds> seeds);
  TaskShape shape() const override { return shape_of(config_); }
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  ExampleSet validation(std::int64_t max_examples) const override;

 private:
  FactsConfig config_;
  std::vector<std::vector<std::int64_t>> values_;  // (R, N)
  std::vector<std::vector<std::int64_t>> drawn_;   // (R, draws) facts; (R, 0) where each is trained once an epoch
};

}  // namespace ffn
