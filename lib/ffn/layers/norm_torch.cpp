#include "ffn/layers/norm_torch.hpp"

#include "ffn/config/parameters.hpp"

namespace ffn::modules {

NormImpl::NormImpl(std::int64_t num_runs, std::int64_t d_model, const NormConfig& config)
    : RunModule(num_runs), rms_(!config.centres()), epsilon_(config.epsilon) {
  const auto parameters = norm_parameters(d_model, config);
  weight_ = parameter(parameters.weight);
  bias_ = parameter(parameters.bias);
}

Tensor NormImpl::forward(const Tensor& in) {
  const Tensor x = widened(in);
  if (!rms_ && num_runs() == 1 && OwnKernels::wanted()) return torch::layer_norm(x, {x.size(-1)}, weight_[0], bias_[0], epsilon_);
  const Tensor weight = weight_.unsqueeze(1);  // (R, 1, D)
  if (rms_) return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + epsilon_) * weight;
  return torch::layer_norm(x, {x.size(-1)}, {}, {}, epsilon_) * weight + bias_.unsqueeze(1);
}

}  // namespace ffn::modules
