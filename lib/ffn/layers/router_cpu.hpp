// The routers of mixtures by hand: the formulas of layers/router_torch.hpp with their backward passes.
#pragma once

#include <memory>
#include <vector>

#include "ffn/config/model_config.hpp"
#include "ffn/layers/linear_cpu.hpp"

namespace ffn::fused {

/// Which token goes to which expert with what weight; from the arena.
struct Routing {
  const float* weight = nullptr;         ///< (N, K)
  const std::int64_t* expert = nullptr;  ///< (N, K), distinct over K
  const float* probability = nullptr;    ///< (N, E), what it chose by
};

/// What a balance loss is made of, over a batch.
struct RoutingTotals {
  std::int64_t tokens = 0, pairs = 0;  ///< N, and N·K (token, choice) pairs
  std::vector<std::int64_t> assigned;  ///< (E) of the pairs
  std::vector<double> probability;     ///< (E) Σ over the tokens

  RoutingTotals& operator+=(const RoutingTotals& other);
  /// Share of the pairs that an expert got.
  double load(std::size_t expert) const { return static_cast<double>(assigned[expert]) / static_cast<double>(pairs); }
  /// E · Σ load·mean probability
  double balance_loss() const;
};

class Router {
 public:
  virtual ~Router() = default;
  /// x: (rows, D), alive until backward.
  virtual Routing route(Pass& pass, std::int64_t rows, const float* x) = 0;
  /// dweight: (rows, K) → the router's part of dx: (rows, D), from the arena, for the caller to add to. Gradients of the
  /// weights go to the row. `balance_weight` is what the objective multiplies the balance loss by.
  virtual float* backward(Pass& pass, const float* dweight, float balance_weight) = 0;
  /// Of the last routing; the backward pass goes by them.
  RoutingTotals& totals() { return totals_; }

 protected:
  RoutingTotals totals_;
};

/// The router of a mixture. Kinds that config/coverage.cpp leaves to LibTorch do not get here.
std::unique_ptr<Router> make_router(const Declare& declare, std::int64_t d_model, const MoeConfig& config);

}  // namespace ffn::fused
