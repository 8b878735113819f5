// Affine map of one run.
#pragma once

#include "ffn/layers/declare.hpp"
#include "ffn/layers/matrix.hpp"
#include "ffn/layers/pass.hpp"

namespace ffn::cpu {

/// y = x W + b; W is (D_in, D_out), b (D_out) if there is one. Matrices are row-major and contiguous.
class Linear {
 public:
  Linear(const Declare& declare, std::int64_t d_in, std::int64_t d_out, bool bias);
  /// With Wᵀ (D_out, D_in) in a place that another layer declared, to whose gradient this one adds.
  Linear(const Declare& declare, std::int64_t d_in, std::int64_t d_out, bool bias, Place transposed);
  /// x: (rows, D_in) → (rows, D_out), from the arena.
  float* forward(Pass& pass, std::int64_t rows, const float* x) const;
  /// Writes dW = xᵀ·dy and db = Σ dy into the gradient row.
  void weight_gradient(Pass& pass, std::int64_t rows, const float* x, const float* dy) const;
  /// dx = dy·Wᵀ → (rows, D_in), from the arena.
  float* input_gradient(Pass& pass, std::int64_t rows, const float* dy) const;
  /// dx += dy·Wᵀ
  void add_input_gradient(Pass& pass, std::int64_t rows, const float* dy, float* dx) const;

 private:
  ConstMatrix weight(const Pass& pass) const;

  std::int64_t d_in_, d_out_;
  bool transposed_ = false;
  Place weight_, bias_;
};

}  // namespace ffn::cpu
