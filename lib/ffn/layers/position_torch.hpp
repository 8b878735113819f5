// Fixed encodings of positions, computed on the device: what a captured step replays must not wait for the host.
#pragma once

#include "ffn/layers/run_module_torch.hpp"

namespace ffn::nn {

/// sin(t ω_i) at 2i and cos(t ω_i) at 2i + 1, with ω_i = 10000^(−2i/D): (T, D), dtype and device of `like`. Worked out in float64.
/// Source: Vaswani et al. 2017, §3.5, arXiv:1706.03762.
Tensor sinusoids(std::int64_t length, std::int64_t d_model, const Tensor& like);

}  // namespace ffn::nn
