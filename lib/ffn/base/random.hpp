// Random numbers as a pure function of (seed, stream, index): nothing to save, nothing shared between runs.
//
// Philox4x32-10, Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3", doi:10.1145/2063384.2063405.
// A run that resumes at step k asks for the numbers of step k; a run in a cohort draws exactly what it would draw
// alone. No std:: distributions: their output differs between standard libraries.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace ffn {

using Philox4 = std::array<std::uint32_t, 4>;

/// One Philox4x32 block with ten rounds: 128 random bits for a 128-bit counter under a 64-bit key.
inline Philox4 philox(Philox4 counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

/// FNV-1a, 64 bit, of a name; turns a parameter's or role's name into a stream number.
constexpr std::uint64_t name_hash(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

/// The named sub-seed of a run: a Philox block of the role's hash under the root seed. It depends on the seed and the
/// role alone, never on the variant, so that two variants with the same seed share data order and initial draws.
inline std::uint64_t sub_seed(std::uint64_t seed, std::string_view role) {
  const std::uint64_t h = name_hash(role);
  const auto block = philox({static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(h >> 32), 0, 0}, seed);
  return std::uint64_t{block[1]} << 32 | block[0];
}

/// The numbers of one stream (a step, a parameter) under one key, in order.
class RandomStream {
 public:
  RandomStream(std::uint64_t key, std::uint64_t stream) : key_(key), stream_(stream) {}

  std::uint32_t bits() {
    if (used_ == 4) refill();
    return block_[used_++];
  }
  /// Uniform on [0, 1), a multiple of 2^-24: exact in float32.
  double uniform() { return static_cast<double>(bits() >> 8) * 0x1p-24; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform on {0, …, n-1} without modulo bias that matters: 32-bit multiply-shift (Lemire 2019), bias below n·2^-32.
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(std::uint64_t{bits()} * n >> 32); }
  /// Standard normal by Box and Muller 1958, one of the pair.
  double normal() {
    const std::uint32_t first = bits();
    return normal_of(first, bits());
  }
  static double normal_of(std::uint32_t first, std::uint32_t second) {
    const double u = (static_cast<double>(first) + 0.5) * 0x1p-32, v = (static_cast<double>(second) + 0.5) * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  void refill() {
    block_ = philox({static_cast<std::uint32_t>(index_), static_cast<std::uint32_t>(index_ >> 32), static_cast<std::uint32_t>(stream_),
                     static_cast<std::uint32_t>(stream_ >> 32)},
                    key_);
    ++index_;
    used_ = 0;
  }

  std::uint64_t key_, stream_, index_ = 0;
  Philox4 block_{};
  unsigned used_ = 4;
};

}  // namespace ffn
