#include "ffn/layers/norm_cpu.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::cpu {

Norm::Norm(const Declare& declare, std::int64_t d_model, const NormConfig& config)
    : d_model_(d_model), epsilon_(static_cast<float>(config.epsilon)) {
  const auto parameters = norm_parameters(d_model, config);
  weight_ = declare(parameters.weight, Gradient::added_to);
  bias_ = declare(parameters.bias, Gradient::added_to);
}

float* Norm::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  float* y = pass.arena.floats(rows * d_model_);
  normalised_ = pass.arena.floats(rows * d_model_);
  inverse_ = pass.arena.floats(rows);
  kernels().norm(rows, d_model_, epsilon_, x, weight_.in(pass.parameters), bias_.in(pass.parameters), y, normalised_, inverse_);
  return y;
}

float* Norm::backward(Pass& pass, const float* dy) {
  float* dx = pass.arena.floats(rows_ * d_model_);
  kernels().norm_backward(rows_, d_model_, dy, weight_.in(pass.parameters), normalised_, inverse_, dx, weight_.in(pass.gradients),
                          bias_.in(pass.gradients));
  return dx;
}

}  // namespace ffn::cpu
