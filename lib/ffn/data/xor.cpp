#include "ffn/data/xor.hpp"

#include <cstring>

#include "ffn/base/random.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn {

namespace {

constexpr std::int64_t parity(std::uint32_t bits) {
  for (const unsigned half : {16u, 8u, 4u, 2u, 1u}) bits ^= bits >> half;
  return bits & 1;
}

// Streams of one step: patterns, jitter and label flips must not shift each other when one is switched off.
enum Purpose : std::uint64_t { patterns = 0, jitter = 1, flips = 2, num_purposes = 4 };

std::uint64_t stream_number(std::int64_t step, Purpose purpose) { return static_cast<std::uint64_t>(step) * num_purposes + purpose; }

RandomStream stream(std::uint64_t seed, std::int64_t step, Purpose purpose) { return {seed, stream_number(step, purpose)}; }

// -1 for 0, 1 for 1, without a branch: random bits defeat branch prediction.
constexpr void write_pattern(std::uint32_t pattern, std::int64_t bits, float* x) {
  for (std::int64_t b = 0; b < bits; ++b) x[b] = static_cast<float>(2 * static_cast<std::int32_t>(pattern >> b & 1) - 1);
}

std::uint32_t low_bits(std::uint32_t word, std::int64_t bits) { return bits == 32 ? word : word & ((1u << bits) - 1); }

// The examples of so few bits that all of them can be written down beforehand.
template <int Bits>
struct Examples {
  constexpr Examples() {
    for (std::uint32_t pattern = 0; pattern < 1u << Bits; ++pattern) {
      write_pattern(pattern, Bits, x[pattern]);
      label[pattern] = parity(pattern);
    }
  }
  float x[1 << Bits][Bits] = {};
  std::int64_t label[1 << Bits] = {};
};

template <int Bits>
void write_patterns(std::int64_t examples, const std::uint32_t* words, const BatchPlace& to) {
  static constexpr Examples<Bits> kAll;
  for (std::int64_t i = 0; i < examples; ++i) {
    const std::uint32_t pattern = low_bits(words[i], Bits);
    std::memcpy(to.vectors + i * Bits, kAll.x[pattern], sizeof kAll.x[pattern]);
    to.labels[i] = kAll.label[pattern];
  }
}

void write_patterns(std::int64_t examples, std::int64_t bits, const std::uint32_t* words, const BatchPlace& to) {
  if (bits == 2) return write_patterns<2>(examples, words, to);
  if (bits == 3) return write_patterns<3>(examples, words, to);
  if (bits == 4) return write_patterns<4>(examples, words, to);
  for (std::int64_t i = 0; i < examples; ++i) {
    const std::uint32_t pattern = low_bits(words[i], bits);
    write_pattern(pattern, bits, to.vectors + i * bits);
    to.labels[i] = parity(pattern);
  }
}

// Random patterns, jitter included.
void write_random(const XorConfig& config, std::uint64_t seed, std::int64_t step, std::int64_t examples, const BatchPlace& to) {
  const auto bits = config.bits;
  std::vector<std::uint32_t> words(static_cast<std::size_t>(examples));
  kernels().random_bits(seed, stream_number(step, patterns), words.size(), words.data());
  write_patterns(examples, bits, words.data(), to);
  if (config.jitter == 0) return;
  auto noise = stream(seed, step, jitter);
  for (std::int64_t i = 0; i < examples * bits; ++i) to.vectors[i] += static_cast<float>(config.jitter * noise.normal());
}

}  // namespace

void XorTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  const auto seed = seeds(run).train;
  write_random(config_, seed, step, batch_size, to);
  if (config_.label_noise == 0) return;
  auto flip = stream(seed, step, flips);
  for (std::int64_t i = 0; i < batch_size; ++i) to.labels[i] ^= flip.uniform() < config_.label_noise ? 1 : 0;
}

ExampleSet XorTask::validation(std::int64_t max_examples) const {
  const auto bits = config_.bits;
  const bool all = config_.jitter == 0 && bits < 31 && (std::int64_t{1} << bits) <= max_examples;
  const auto examples = all ? std::int64_t{1} << bits : max_examples;
  ExampleSet set = empty_set(examples);
  for (std::int64_t r = 0; r < num_runs(); ++r) {
    const auto to = place(set, r);
    if (!all) {
      write_random(config_, seeds(static_cast<size_t>(r)).validation, 0, examples, to);
      continue;
    }
    for (std::int64_t i = 0; i < examples; ++i) {
      const auto pattern = static_cast<std::uint32_t>(i);
      write_pattern(pattern, bits, to.vectors + i * bits);
      to.labels[i] = parity(pattern);
    }
  }
  return set;
}

}  // namespace ffn
