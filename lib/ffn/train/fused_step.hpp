// A cohort's losses, gradients and evaluations by the fused network (fused/network.hpp), one run at a time.
#pragma once

#include "ffn/config/run_config.hpp"
#include "ffn/fused/network.hpp"
#include "ffn/tasks/task.hpp"

namespace ffn {

struct Score {
  double loss = 0;  ///< mean cross-entropy in nats over the scored positions
  double accuracy = 0;
};

class FusedStep {
 public:
  /// The task must outlive it.
  FusedStep(const RunConfig& config, const Task& task);
  const RowLayout& layout() const { return network_.layout(); }  ///< of the rows of parameters and gradients
  /// The loss of run r on its batch of a step; the gradient is in gradient() until the next call.
  fused::Network::Loss loss(std::int64_t r, std::int64_t step, const float* parameters, double dropout_rate, std::uint64_t dropout_seed);
  const float* gradient() const { return gradient_.data(); }  ///< (P)
  /// Run r on its part of a set; no dropout.
  Score evaluate(std::int64_t r, const float* parameters, const ExampleSet& set);

 private:
  const Task& task_;
  TaskShape shape_;
  std::int64_t batch_size_;
  double balance_weight_;
  fused::Network network_;
  std::vector<float> gradient_, vectors_;
  std::vector<std::int64_t> tokens_, labels_;
};

}  // namespace ffn
