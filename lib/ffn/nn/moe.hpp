// Mixture of experts without dropped tokens.
#pragma once

#include "ffn/nn/feed_forward.hpp"

namespace ffn::nn {

/// Which token goes to which expert with what weight.
struct Routing {
  Tensor weight;        ///< (R, N, K), sums to 1 over K
  Tensor expert;        ///< (R, N, K) int64, distinct over K
  Tensor chosen;        ///< (R, N, E): 1 where a token goes to the expert, else 0
  Tensor weight_of;     ///< (R, N, E): its weight there, else 0
  Tensor balance_loss;  ///< (R)
  Tensor load;          ///< (R, E)
};

/// p = softmax(x W_r), the K largest kept and divided by their sum; equal to a softmax over the K largest logits, as in
/// Mixtral (Jiang et al. 2024, arXiv:2401.04088). The router has no bias.
/// Balance loss E·Σ fᵢPᵢ (Fedus et al. 2021, Switch Transformer, eq. 4, arXiv:2101.03961), with fᵢ the share of the N·K
/// assignments that expert i got and Pᵢ its mean probability: 1 at perfect balance, whatever K.
/// x: (R, N, D).
class TopKRouterImpl final : public RunModule {
 public:
  TopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, std::int64_t num_experts, std::int64_t top_k);
  Routing forward(const Tensor& x);

 private:
  std::int64_t num_experts_, top_k_;
  Linear gate_{nullptr};
};
TORCH_MODULE(TopKRouter);

/// E plain or gated FFNs per run.
class ExpertsImpl final : public RunModule {
 public:
  ExpertsImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config);
  /// x: (M, D), rows sorted by group g = r·E + e; group g owns rows offsets[g] … offsets[g + 1] - 1. → hidden: (M, F)
  Tensor hidden(const Tensor& x, const std::vector<std::int64_t>& offsets, const ForwardContext& context);
  /// hidden: (M, F) → (M, D)
  Tensor output(const Tensor& hidden, const std::vector<std::int64_t>& offsets);
  /// Every expert on every token: x (R, N, D) → hidden (R·E, N, F) → (R·E, N, D).
  Tensor hidden_of_all(const Tensor& x, const ForwardContext& context);
  Tensor output_of_all(const Tensor& hidden);

 private:
  const Activation& phi_;
  GroupedLinear gate_{nullptr}, up_{nullptr}, down_{nullptr};
};
TORCH_MODULE(Experts);

/// y_n = Σ_k weight[n, k] · expert[n, k](x_n). Tokens are sorted by expert, each expert works on its rows at once, and the
/// results return to their tokens; none is dropped, whatever the load (Gale et al. 2022, MegaBlocks, arXiv:2211.15841).
/// How many rows an expert gets is known to the host only after a wait; where the context is host_free, every expert works
/// on every token instead and weights of 0 leave out what was not chosen: E/K times the work, the same sum.
class MoEImpl final : public FeedForward {
 public:
  MoEImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  Tensor by_groups(const Tensor& x, const Routing& routing, const ForwardContext& context);
  Tensor by_all(const Tensor& x, const Routing& routing, const ForwardContext& context);

  std::int64_t num_experts_, top_k_;
  std::uint32_t site_;
  TopKRouter router_{nullptr};
  Experts experts_{nullptr};
};
TORCH_MODULE(MoE);

}  // namespace ffn::nn
