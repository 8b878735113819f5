#include "ffn/kernels/dropout.hpp"

#include "ffn/kernels/kernels.hpp"

namespace ffn {

void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask, std::size_t first) {
  kernels().dropout_mask(n, rate, seed, site, step, mask, first);
}

}  // namespace ffn
