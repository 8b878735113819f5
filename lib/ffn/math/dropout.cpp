#include "ffn/math/dropout.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/core/random.hpp"

namespace ffn {

void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask) {
  const auto threshold = static_cast<std::uint64_t>(std::llround(rate * 0x1p32));  // dropped when the bits are below
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  const auto step_low = static_cast<std::uint32_t>(step), step_high = static_cast<std::uint32_t>(step >> 32);
  for (std::size_t i = 0; i < n; i += 4) {
    const auto bits = philox({static_cast<std::uint32_t>(i / 4), site, step_low, step_high}, seed);
    for (std::size_t j = 0; j < std::min<std::size_t>(4, n - i); ++j) mask[i + j] = bits[j] < threshold ? 0.0f : kept;
  }
}

}  // namespace ffn
