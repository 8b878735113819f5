#include "ffn/tasks/task.hpp"

namespace ffn {

Batch Task::empty_batch(std::int64_t examples) const {
  const auto s = shape();
  const auto labels = torch::empty({num_runs(), examples * s.sequence_length}, torch::kInt64);
  if (s.tokens) return {torch::empty({num_runs(), examples, s.sequence_length}, torch::kInt64), labels};
  return {torch::empty({num_runs(), examples, s.input_width}), labels};
}

BatchPlace Task::place(const Batch& batch, std::int64_t run) {
  BatchPlace to;
  const torch::Tensor inputs = batch.inputs[run];
  if (inputs.scalar_type() == torch::kInt64) to.tokens = inputs.data_ptr<std::int64_t>();
  else to.vectors = inputs.data_ptr<float>();
  to.labels = batch.labels[run].data_ptr<std::int64_t>();
  return to;
}

Batch Task::train_batch(std::int64_t step, std::int64_t batch_size) const {
  Batch batch = empty_batch(batch_size);
  for (std::int64_t r = 0; r < num_runs(); ++r) write_batch(static_cast<std::size_t>(r), step, batch_size, place(batch, r));
  return batch;
}

}  // namespace ffn
