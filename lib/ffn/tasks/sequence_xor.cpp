#include "ffn/tasks/sequence_xor.hpp"

#include <algorithm>

#include "ffn/core/random.hpp"

namespace ffn {

Batch SequenceXorTask::sample(std::int64_t step, std::int64_t examples, std::uint64_t DataSeeds::*role) const {
  const auto runs = static_cast<std::int64_t>(seeds_.size()), length = config_.length;
  const auto first_scored = std::max(config_.first_offset, config_.second_offset);
  Batch batch{torch::empty({runs, examples, length}, torch::kInt64), torch::empty({runs, examples * length}, torch::kInt64)};
  auto* x = batch.inputs.data_ptr<std::int64_t>();
  auto* label = batch.labels.data_ptr<std::int64_t>();
  for (const auto& seeds : seeds_) {
    RandomStream random(seeds.*role, static_cast<std::uint64_t>(step));
    for (std::int64_t i = 0; i < examples; ++i, x += length, label += length) {
      std::uint32_t word = 0;
      for (std::int64_t t = 0; t < length; ++t, word >>= 1) {
        if (t % 32 == 0) word = random.bits();
        x[t] = word & 1;
        label[t] = t < first_scored ? -1 : x[t - config_.first_offset] ^ x[t - config_.second_offset];
      }
    }
  }
  return batch;
}

Batch SequenceXorTask::train_batch(std::int64_t step, std::int64_t batch_size) const { return sample(step, batch_size, &DataSeeds::train); }
Batch SequenceXorTask::validation(std::int64_t max_examples) const { return sample(0, max_examples, &DataSeeds::validation); }

}  // namespace ffn
