// Dropout masks as a function of (seed, site, step, element). Torch-free.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ffn {

/// mask[i] = 0 with probability `rate`, else 1/(1 - rate), for i < n. Element i depends on i and the other arguments
/// only, never on n. rate in [0, 1).
void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask);

}  // namespace ffn
