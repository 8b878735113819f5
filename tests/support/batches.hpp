// A task's examples as tensors on the run axis, for tests and for LibTorch's modules.
#pragma once

#include "ffn/data/task.hpp"
#include "ffn/layers/compat_torch.hpp"

namespace ffn::test {

struct Batch {
  torch::Tensor inputs;  ///< (R, B, T) int64 token ids or (R, B, width) float
  torch::Tensor labels;  ///< (R, B·T) int64, or (R, B·T, width) float
};

/// Vectors in float64, for a reference; token ids stay.
inline torch::Tensor as_double(const torch::Tensor& x) { return x.is_floating_point() ? x.to(torch::kFloat64) : x; }

inline Batch to_tensors(const ExampleSet& set, const TaskShape& shape, std::int64_t runs) {
  const auto own = set.shared ? 1 : runs, length = shape.sequence_length;
  const std::vector<std::int64_t> values{set.count * length, shape.num_classes};
  const auto labels = shape.target == Target::classes
                          ? torch::tensor(set.labels, torch::kInt64).view({own, values[0]}).expand({runs, values[0]})
                          : torch::tensor(set.values).view({own, values[0], values[1]}).expand({runs, values[0], values[1]});
  if (shape.tokens)
    return {torch::tensor(set.tokens, torch::kInt64).view({own, set.count, length}).expand({runs, set.count, length}), labels};
  return {torch::tensor(set.vectors).view({own, set.count, shape.input_width}).expand({runs, set.count, shape.input_width}), labels};
}

inline Batch train_batch(const Task& task, std::int64_t step, std::int64_t batch_size) {
  const auto shape = task.shape();
  ExampleSet set;
  set.count = batch_size;
  for (std::int64_t r = 0; r < task.num_runs(); ++r) {
    const ExampleSet own = task.batch(static_cast<std::size_t>(r), step, batch_size);
    set.tokens.insert(set.tokens.end(), own.tokens.begin(), own.tokens.end());
    set.vectors.insert(set.vectors.end(), own.vectors.begin(), own.vectors.end());
    set.labels.insert(set.labels.end(), own.labels.begin(), own.labels.end());
    set.values.insert(set.values.end(), own.values.begin(), own.values.end());
  }
  return to_tensors(set, shape, task.num_runs());
}

inline Batch validation(const Task& task, std::int64_t max_examples) {
  return to_tensors(task.validation(max_examples), task.shape(), task.num_runs());
}

}  // namespace ffn::test
