// Fixed encodings of positions, computed on the device: what a captured step replays must not wait for the host.
#pragma once

#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

/// sin(t ω_i) at 2i and cos(t ω_i) at 2i + 1, with ω_i = 10000^(−2i/D): (T, D), dtype and device of `like`. Worked out in float64.
/// Source: Vaswani et al. 2017, §3.5, arXiv:1706.03762.
Tensor sinusoids(std::int64_t length, std::int64_t d_model, const Tensor& like);

/// Turns pairs of numbers by the angle t ω_i, with ω_i = base^(−2i/d): the product of a turned query and a turned key depends on how far
/// apart they stand, not on where. Pair i is (x_i, x_{i + d/2}), or (x_2i, x_{2i+1}) for `in_pairs`; d is even.
/// Source: Su et al. 2021, eq. 15 and 34, arXiv:2104.09864 (in pairs); the halves are those of Hugging Face's weights.
class Rotary {
 public:
  Rotary(std::int64_t length, std::int64_t head_width, double base, bool in_pairs, const Tensor& like);
  /// x: (…, T, d) → the same shape
  Tensor operator()(const Tensor& x) const;

 private:
  Tensor cos_, sin_;  ///< (T, d/2)
  bool in_pairs_;
};

}  // namespace ffn::modules
