// The encodings of layers/position_torch.hpp as tables, made once.
#pragma once

#include <cstdint>
#include <vector>

namespace ffn::fused {

/// (T, D)
std::vector<float> sinusoids(std::int64_t length, std::int64_t d_model);

}  // namespace ffn::fused
