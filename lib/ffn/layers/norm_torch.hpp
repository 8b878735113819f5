// Normalisation of each token's vector, on the run axis.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

/// layer: (x - mean)/√(var + ε) · weight + bias, Ba et al. 2016, arXiv:1607.06450 (population variance over D).
/// rms:   x/√(mean(x²) + ε) · weight, Zhang & Sennrich 2019, eq. 4, arXiv:1910.07467.
/// x: (R, N, D) → (R, N, D). Parameters: weight (R, D) of ones, bias (R, D) of zeros for layer.
class NormImpl final : public RunModule {
 public:
  NormImpl(std::int64_t num_runs, std::int64_t d_model, const NormConfig& config);
  Tensor forward(const Tensor& in);

 private:
  bool rms_;
  double epsilon_;
  Tensor weight_, bias_;
};
TORCH_MODULE(Norm);

}  // namespace ffn::modules
