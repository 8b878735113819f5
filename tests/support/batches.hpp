// A task's examples as tensors on the run axis, for tests and for nn's modules.
#pragma once

#include "ffn/data/task.hpp"
#include "ffn/layers/compat_torch.hpp"

namespace ffn::test {

struct Batch {
  torch::Tensor inputs;  ///< (R, B, T) int64 token ids or (R, B, width) float
  torch::Tensor labels;  ///< (R, B·T) int64
};

/// Vectors in float64, for a reference; token ids stay.
inline torch::Tensor as_double(const torch::Tensor& x) { return x.is_floating_point() ? x.to(torch::kFloat64) : x; }

inline Batch to_tensors(const ExampleSet& set, const TaskShape& shape, std::int64_t runs) {
  const auto own = set.shared ? 1 : runs, length = shape.sequence_length;
  const auto labels = torch::tensor(set.labels, torch::kInt64).view({own, set.count * length}).expand({runs, set.count * length});
  if (shape.tokens)
    return {torch::tensor(set.tokens, torch::kInt64).view({own, set.count, length}).expand({runs, set.count, length}), labels};
  return {torch::tensor(set.vectors).view({own, set.count, shape.input_width}).expand({runs, set.count, shape.input_width}), labels};
}

inline Batch train_batch(const Task& task, std::int64_t step, std::int64_t batch_size) {
  const auto shape = task.shape();
  ExampleSet set;
  set.count = batch_size;
  for (std::int64_t r = 0; r < task.num_runs(); ++r) {
    std::vector<std::int64_t> tokens(static_cast<std::size_t>(batch_size * shape.sequence_length)), labels(tokens.size());
    std::vector<float> vectors(static_cast<std::size_t>(batch_size * shape.input_width));
    task.write_batch(static_cast<std::size_t>(r), step, batch_size, {tokens.data(), vectors.data(), labels.data()});
    set.tokens.insert(set.tokens.end(), tokens.begin(), tokens.end());
    set.vectors.insert(set.vectors.end(), vectors.begin(), vectors.end());
    set.labels.insert(set.labels.end(), labels.begin(), labels.end());
  }
  return to_tensors(set, shape, task.num_runs());
}

inline Batch validation(const Task& task, std::int64_t max_examples) {
  return to_tensors(task.validation(max_examples), task.shape(), task.num_runs());
}

}  // namespace ffn::test
