// Batches drawn on the device: those of Task::write_batch(), bit for bit, with no work of the host for each run and step.
#pragma once

#include "ffn/data/task.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn {

/// A batch of every run of a stack, or of several steps with one dimension more in front.
struct StackBatch {
  torch::Tensor inputs;   ///< (R, B, T) int64 token ids, or (R, B, width) floats
  torch::Tensor targets;  ///< (R, B·T) int64 labels, negative where a position is not scored, or (R, B·T, width) floats
};

class DeviceBatches {
 public:
  /// Rows beyond the task's runs have the first one's batches. The task must outlive it.
  DeviceBatches(const Task& task, std::int64_t width, std::int64_t batch_size, const torch::TensorOptions& numbers);
  /// Whether the task's batches can be drawn so.
  bool drawn() const { return seeds_.defined(); }
  /// Bytes that drawing a step's batches takes on the way.
  std::int64_t bytes() const { return seeds_.numel() * batch_size_ * bytes_; }
  /// The batches of the steps (K) int64; undefined where a formula is for one of them, which write_batch() says better.
  StackBatch at(const torch::Tensor& steps) const;

 private:
  torch::Tensor words(const torch::Tensor& streams, torch::IntArrayRef shape) const;
  torch::Tensor normals(const torch::Tensor& streams, torch::IntArrayRef shape, double mean, double deviation) const;
  std::vector<torch::Tensor> inputs_at(const DrawnInputs& how, const torch::Tensor& steps) const;
  StackBatch draw(const DrawnPatterns& how, const torch::Tensor& steps) const;
  StackBatch draw(const DrawnWindows& how, const torch::Tensor& steps) const;
  StackBatch draw(const DrawnBits& how, const torch::Tensor& steps) const;
  StackBatch draw(const DrawnSequences& how, const torch::Tensor& steps) const;
  StackBatch draw(const DrawnInputs& how, const torch::Tensor& steps) const;
  StackBatch draw(std::monostate, const torch::Tensor&) const { return {}; }

  DrawnBatches how_;
  TaskShape shape_;
  std::int64_t batch_size_, bytes_ = 0;  // bytes_: of an example
  torch::TensorOptions numbers_;
  torch::Tensor seeds_;                             ///< (R) int64
  torch::Tensor text_, starts_, before_, skipped_;  ///< of windows: the characters; (R, 1) each
  torch::Tensor fixed_, patterns_;  ///< of sequences: (R, 1, 1, alphabet) float64; of inputs: those trained on, (R, patterns)
};

}  // namespace ffn
