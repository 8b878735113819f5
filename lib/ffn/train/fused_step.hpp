// A cohort's losses and gradients by the fused network (fused/network.hpp): one run at a time, without LibTorch's
// operations.
#pragma once

#include "ffn/fused/network.hpp"
#include "ffn/nn/parameter_row.hpp"
#include "ffn/tasks/task.hpp"
#include "ffn/train/evaluate.hpp"

namespace ffn {

class FusedStep {
 public:
  /// Both must outlive it. Parameters are float32 on the CPU.
  FusedStep(const RunConfig& config, const Task& task, const nn::ParameterRow& row);
  /// The loss of run r on its batch of a step; the gradient is in gradient() until the next call.
  fused::Network::Loss loss(std::int64_t r, std::int64_t step, double dropout_rate, std::uint64_t dropout_seed);
  const float* gradient() const { return gradient_.data(); }  ///< (P)
  Validation validate(const Batch& set);

 private:
  const Task& task_;
  const nn::ParameterRow& row_;
  std::int64_t batch_size_, sequence_length_;
  double balance_weight_;
  fused::Network network_;
  std::vector<float> gradient_, vectors_;
  std::vector<std::int64_t> tokens_, labels_;
};

}  // namespace ffn
