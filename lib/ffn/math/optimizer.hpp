// One-pass optimizer updates over contiguous parameters, and the norm that clipping needs. Torch-free.
#pragma once

#include <cstddef>

namespace ffn {

/// Σ x², in double, summed in an order that depends on n alone.
double sum_of_squares(std::size_t n, const float* x);

/// One Adam step on n parameters; torch.optim's formulas. `weight_decay` 0 for parameters that do not decay.
struct AdamStep {
  double lr, beta1, beta2, epsilon, weight_decay;
  bool decoupled;        ///< AdamW: p ← p(1 - lr·wd); Adam: g ← g + wd·p
  double grad_scale;     ///< gradient clipping: g ← grad_scale·g first
  long long step_count;  ///< t ≥ 1, for the bias correction
};
void adam_step(std::size_t n, const AdamStep& s, const float* grad, float* param, float* mean, float* square);

/// One SGD step with momentum; torch.optim's form: v ← μv + g (v = g at the first step), p ← p - lr·v, or p - lr·(g + μv)
/// with Nesterov.
struct SgdStep {
  double lr, momentum, weight_decay;
  bool nesterov;
  double grad_scale;
};
void sgd_step(std::size_t n, const SgdStep& s, const float* grad, float* param, float* velocity);

}  // namespace ffn
