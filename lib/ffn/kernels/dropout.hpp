// Dropout masks as a function of (seed, site, step, element). Torch-free.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffn {

/// mask[i] = 0 with probability `rate`, else 1/(1 - rate), for i < n: the elements first … first + n - 1 of a mask without end,
/// whose element i depends on i, rate, seed, site and step alone. rate in [0, 1).
void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask,
                  std::size_t first = 0);

}  // namespace ffn
