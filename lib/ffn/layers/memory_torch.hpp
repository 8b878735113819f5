// Memories whose slots are found by product keys: each of two half keys is chosen among n, and n² slots are searched by 2n scores.
#pragma once

#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/norm_torch.hpp"

namespace ffn::modules {

/// The search of Lample et al. 2019, arXiv:1907.05242, §3.1. Each head has a query q = x W + b of width d_k, cut into halves, and scores
/// each half against its n half keys: the best K of each half, then the best K of their K² sums, are the best K of all n² sums.
/// Weights are the softmax over those K. Of equals the first are taken.
class MemoryImpl : public FeedForward {
 protected:
  struct Found {
    Tensor slot, weight;  ///< (R, N, H·K): int64, slot i₁n + i₂; and its weight
  };

  MemoryImpl(std::int64_t num_runs, std::int64_t d_model, const MemoryFields& config);
  Found find(const Tensor& x, const ForwardContext& context);
  /// Rows of a table (R, n², D): (R, N, H·K, D)
  static Tensor rows(const Tensor& table, const Tensor& slot);
  /// How slots are used, for auxiliary_losses().
  std::vector<Tensor> usage(const Found& found) const;

  MemoryFields config_;

 private:
  Linear query_{nullptr};
  Norm norm_{nullptr};
  Tensor keys_;  ///< (R, H, 2, n, d_k/2)
};

/// y = Σ w V[slot]. x: (R, N, D) → (R, N, D).
class PkmImpl final : public MemoryImpl {
 public:
  PkmImpl(std::int64_t num_runs, std::int64_t d_model, const PkmConfig& config);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  Tensor values_;  ///< (R, n², D)
};

/// y = Σ w φ(u[slot]·x) v[slot]: He 2024, arXiv:2407.04153. x: (R, N, D) → (R, N, D).
class PeerImpl final : public MemoryImpl {
 public:
  PeerImpl(std::int64_t num_runs, std::int64_t d_model, const PeerConfig& config);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  const Activation& phi_;
  Tensor inputs_, values_;  ///< u and v (R, n², D)
};

}  // namespace ffn::modules
