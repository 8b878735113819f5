// Mixture of experts by hand: the formulas of nn/moe.hpp with their backward pass.
#pragma once

#include "ffn/fused/feed_forward.hpp"

namespace ffn::fused {

class MoE final : public FeedForward {
 public:
  MoE(const Declare& declare, std::int64_t d_model, const MoeConfig& config, std::uint32_t site);
  const float* forward(Pass& pass, std::int64_t rows, const float* x) override;
  const float* backward(Pass& pass, const float* dy, float balance_weight) override;
  double balance_loss() const override { return balance_loss_; }

 private:
  void route(Pass& pass, const float* x);
  void sort_by_expert(Pass& pass);

  std::int64_t d_model_, num_experts_, top_k_;
  Linear router_;
  Hidden<GroupedLinear, const std::int64_t*> hidden_;
  GroupedLinear down_;

  // Of the pass at work. An assignment is a (token, choice) pair, n·K + k; places are assignments sorted by expert.
  std::int64_t rows_ = 0;
  double balance_loss_ = 0;
  const float *x_ = nullptr, *h_ = nullptr, *result_ = nullptr;
  float *probability_ = nullptr, *weight_ = nullptr, *top_sum_ = nullptr;   ///< (N, E), (N, K), (N)
  std::int64_t *expert_ = nullptr, *place_ = nullptr, *offsets_ = nullptr;  ///< (N, K), (N, K), (E + 1)
};

}  // namespace ffn::fused
