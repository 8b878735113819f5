// The routers of mixtures: which token goes to which expert.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/layers/linear_torch.hpp"

namespace ffn::nn {

/// Which token goes to which expert with what weight.
struct Routing {
  Tensor weight;        ///< (R, N, K)
  Tensor expert;        ///< (R, N, K) int64, distinct over K
  Tensor chosen;        ///< (R, N, E): 1 where a token goes to the expert, else 0
  Tensor weight_of;     ///< (R, N, E): its weight there, else 0
  Tensor balance_loss;  ///< (R)
  Tensor load;          ///< (R, E)
};

class Router : public RunModule {
 public:
  using RunModule::RunModule;
  /// x: (R, N, D), the input of the mixture.
  virtual Routing forward(const Tensor& x, const ForwardContext& context) = 0;
};

/// p = softmax(x W_r), the K largest kept and divided by their sum; equal to a softmax over the K largest logits, as in
/// Mixtral (Jiang et al. 2024, arXiv:2401.04088). For K = 1 the weight is the probability itself (Fedus et al. 2021): divided by
/// itself it would be 1, and the task would not train the router. The router has no bias. Of equals the first are taken: a
/// token that arrives as zeros goes to the first K experts, in every engine.
/// Balance loss E·Σ fᵢPᵢ (Fedus et al. 2021, Switch Transformer, eq. 4, arXiv:2101.03961), with fᵢ the share of the N·K
/// assignments that expert i got and Pᵢ its mean probability: 1 at perfect balance, whatever K.
/// x: (R, N, D).
class SoftmaxTopKRouterImpl final : public Router {
 public:
  SoftmaxTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config);
  Routing forward(const Tensor& x, const ForwardContext& context) override;

 private:
  std::int64_t num_experts_, top_k_;
  Linear gate_{nullptr};
};

/// The router of a mixture.
std::shared_ptr<Router> make_router(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config);

}  // namespace ffn::nn
