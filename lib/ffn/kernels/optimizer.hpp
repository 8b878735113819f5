// One-pass optimizer updates over contiguous parameters, and the norm that clipping needs. Torch-free.
#pragma once

#include <cstddef>

namespace ffn {

/// Σ x², in double, summed in an order that depends on n alone.
double sum_of_squares(std::size_t n, const float* x);

/// One Adam step on n parameters; torch.optim's formulas, with what is equal for all parameters worked out beforehand.
struct AdamStep {
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon;
  float step_size;   ///< lr/(1 - β₁ᵗ)
  float root_scale;  ///< 1/√(1 - β₂ᵗ)
  float keep;        ///< AdamW: p ← p·(1 - lr·wd)
  float l2;          ///< Adam: g ← g + wd·p
  float grad_scale;  ///< gradient clipping: g ← grad_scale·g first
};
void adam_step(std::size_t n, const AdamStep& s, const float* grad, float* param, float* mean, float* square);

/// 1 - βᵗ, which Adam's moments are divided by at step t ≥ 1.
double bias_correction(double beta, long long step_count);

/// One SGD step with momentum; torch.optim's form: v ← μv + g (v = g at the first step), p ← p - lr·v, or p - lr·(g + μv)
/// with Nesterov.
struct SgdStep {
  double lr, momentum, weight_decay;
  bool nesterov;
  double grad_scale;
};
void sgd_step(std::size_t n, const SgdStep& s, const float* grad, float* param, float* velocity);

/// One step of Lion: p ← p·keep - lr·sign(β₁m + (1 - β₁)g), m ← β₂m + (1 - β₂)g; sign(0) = 0.
struct LionStep {
  float lr, beta1, one_minus_beta1, beta2, one_minus_beta2;
  float keep;        ///< 1 - lr·wd
  float grad_scale;  ///< g ← grad_scale·g first
};
void lion_step(std::size_t n, const LionStep& s, const float* grad, float* param, float* mean);

}  // namespace ffn
