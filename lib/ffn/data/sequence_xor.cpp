#include "ffn/data/sequence_xor.hpp"

#include <algorithm>

#include "ffn/base/random.hpp"

namespace ffn {

void SequenceXorTask::write_random(std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) const {
  const auto length = config_.length, first_scored = std::max(config_.first_offset, config_.second_offset);
  auto *x = to.tokens, *label = to.labels;
  RandomStream random(seed, static_cast<std::uint64_t>(step));
  for (std::int64_t i = 0; i < examples; ++i, x += length, label += length) {
    std::uint32_t word = 0;
    for (std::int64_t t = 0; t < length; ++t, word >>= 1) {
      if (t % 32 == 0) word = random.bits();
      x[t] = word & 1;
      label[t] = t < first_scored ? -1 : x[t - config_.first_offset] ^ x[t - config_.second_offset];
    }
  }
}

void SequenceXorTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  write_random(seeds(run).train, step, batch_size, to);
}

ExampleSet SequenceXorTask::validation(std::int64_t max_examples) const {
  ExampleSet set = empty_set(max_examples);
  for (std::int64_t r = 0; r < num_runs(); ++r) write_random(seeds(static_cast<size_t>(r)).validation, 0, max_examples, place(set, r));
  return set;
}

}  // namespace ffn
