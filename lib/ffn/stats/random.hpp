// Random numbers that are the same on every platform and compiler (std:: distributions are not).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffn::stats {

/// SplitMix64: a counter put through a 64-bit mixing function.
/// Source: Steele, Lea & Flood 2014, "Fast Splittable Pseudorandom Number Generators"; constants from
/// Vigna's public-domain splitmix64.c (seed 0 gives e220a8397b1dcdaf first, as there). The seed is mixed
/// once before use, so that neighbouring seeds start at unrelated places of the one cycle of length 2^64.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) noexcept : state_(mix(seed)) {}

  /// 64 uniform bits.
  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15u;
    return mix(state_);
  }

  /// Uniform index in [0, size), 1 ≤ size < 2^32. Multiply-shift (Lemire 2019, "Fast Random Integer Generation
  /// in an Interval") without its rejection step: no probability is off by more than 2^-32.
  std::size_t index(std::size_t size) noexcept { return static_cast<std::size_t>(((next() >> 32) * size) >> 32); }

 private:
  static std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace ffn::stats
