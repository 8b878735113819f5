#include "ffn/nn/norm.hpp"

namespace ffn::nn {

NormImpl::NormImpl(std::int64_t num_runs, std::int64_t d_model, const NormConfig& config)
    : RunModule(num_runs), rms_(config.kind == "rms"), epsilon_(config.epsilon) {
  weight_ = parameter("weight", {d_model}, Init::constant(1));
  if (!rms_) bias_ = parameter("bias", {d_model}, Init::constant(0));
}

Tensor NormImpl::forward(const Tensor& x) {
  const Tensor weight = weight_.unsqueeze(1);  // (R, 1, D)
  if (rms_) return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + epsilon_) * weight;
  return torch::layer_norm(x, {x.size(-1)}, {}, {}, epsilon_) * weight + bias_.unsqueeze(1);
}

}  // namespace ffn::nn
