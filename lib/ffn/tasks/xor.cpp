#include "ffn/tasks/xor.hpp"

#include "ffn/core/random.hpp"

namespace ffn {

namespace {

std::int64_t parity(std::uint32_t bits) { return __builtin_parity(bits); }

// Streams of one step: patterns, jitter and label flips must not shift each other when one is switched off.
enum Purpose : std::uint64_t { patterns = 0, jitter = 1, flips = 2, num_purposes = 4 };

RandomStream stream(std::uint64_t seed, std::int64_t step, Purpose purpose) {
  return {seed, static_cast<std::uint64_t>(step) * num_purposes + purpose};
}

Batch empty_batch(std::int64_t runs, std::int64_t examples, std::int64_t bits) {
  return {torch::empty({runs, examples, bits}), torch::empty({runs, examples}, torch::kInt64)};
}

void write_pattern(std::uint32_t pattern, std::int64_t bits, float* x) {
  for (std::int64_t b = 0; b < bits; ++b) x[b] = (pattern >> b & 1) != 0 ? 1.0f : -1.0f;
}

std::uint32_t low_bits(std::uint32_t word, std::int64_t bits) { return bits == 32 ? word : word & ((1u << bits) - 1); }

// Fills run r of a batch with random patterns, jitter included.
void fill_random(const XorConfig& config, std::uint64_t seed, std::int64_t step, std::int64_t r, Batch& batch) {
  const auto examples = batch.labels.size(1), bits = config.bits;
  float* x = batch.inputs.data_ptr<float>() + r * examples * bits;
  std::int64_t* label = batch.labels.data_ptr<std::int64_t>() + r * examples;
  auto pattern_bits = stream(seed, step, patterns);
  for (std::int64_t i = 0; i < examples; ++i) {
    const std::uint32_t pattern = low_bits(pattern_bits.bits(), bits);
    write_pattern(pattern, bits, x + i * bits);
    label[i] = parity(pattern);
  }
  if (config.jitter == 0) return;
  auto noise = stream(seed, step, jitter);
  for (std::int64_t i = 0; i < examples * bits; ++i) x[i] += static_cast<float>(config.jitter * noise.normal());
}

}  // namespace

Batch XorTask::train_batch(std::int64_t step, std::int64_t batch_size) const {
  const auto runs = static_cast<std::int64_t>(seeds_.size());
  Batch batch = empty_batch(runs, batch_size, config_.bits);
  for (std::int64_t r = 0; r < runs; ++r) {
    const auto seed = seeds_[static_cast<size_t>(r)].train;
    fill_random(config_, seed, step, r, batch);
    if (config_.label_noise == 0) continue;
    auto flip = stream(seed, step, flips);
    std::int64_t* label = batch.labels.data_ptr<std::int64_t>() + r * batch_size;
    for (std::int64_t i = 0; i < batch_size; ++i) label[i] ^= flip.uniform() < config_.label_noise ? 1 : 0;
  }
  return batch;
}

Batch XorTask::validation(std::int64_t max_examples) const {
  const auto runs = static_cast<std::int64_t>(seeds_.size()), bits = config_.bits;
  const bool all = config_.jitter == 0 && bits < 31 && (std::int64_t{1} << bits) <= max_examples;
  const auto examples = all ? std::int64_t{1} << bits : max_examples;
  Batch batch = empty_batch(runs, examples, bits);
  for (std::int64_t r = 0; r < runs; ++r) {
    if (!all) {
      fill_random(config_, seeds_[static_cast<size_t>(r)].validation, 0, r, batch);
      continue;
    }
    for (std::int64_t i = 0; i < examples; ++i) {
      const auto pattern = static_cast<std::uint32_t>(i);
      write_pattern(pattern, bits, batch.inputs.data_ptr<float>() + (r * examples + i) * bits);
      batch.labels.data_ptr<std::int64_t>()[r * examples + i] = parity(pattern);
    }
  }
  return batch;
}

}  // namespace ffn
