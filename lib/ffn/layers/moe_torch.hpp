// Mixture of experts without dropped tokens.
#pragma once

#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/formula_torch.hpp"
#include "ffn/layers/router_torch.hpp"

namespace ffn::modules {

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

/// y_n = Σ over the triples (n, e, weight) of weight · expert e(x_n). Tokens are sorted by expert, each expert works on its rows at once,
/// and the results return to their tokens, whatever the load (Gale et al. 2022, MegaBlocks, arXiv:2211.15841); what a router drops beyond
/// its capacity has a weight of 0. Shared experts add one FFN of all tokens. How many
/// rows an expert gets is known to the host only after a wait; where the context is host_free and may not wait, every expert works on every
/// token instead and weights of 0 leave out what was not chosen: E/K times the work, the same sum.
class MoEImpl final : public FeedForward {
 public:
  MoEImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;
  void update_buffers(const Tensor& load, const Tensor& alive) override { router_->update_buffers(load, alive); }

 private:
  Tensor by_groups(const Tensor& x, const Routing& routing, const ForwardContext& context);
  Tensor by_all(const Tensor& x, const Routing& routing, const ForwardContext& context);

  std::int64_t num_experts_;
  std::uint32_t site_;
  std::shared_ptr<Router> router_;
  Experts experts_{nullptr};  ///< or
  FormulaExperts formulas_{nullptr};
  std::shared_ptr<FeedForward> shared_;  ///< nullptr for none
};
TORCH_MODULE(MoE);

}  // namespace ffn::modules
