// The routers of mixtures by hand: the formulas of layers/router_torch.hpp with their backward passes.
#pragma once

#include <memory>
#include <vector>

#include "ffn/config/metrics.hpp"
#include "ffn/config/model_config.hpp"
#include "ffn/layers/linear_cpu.hpp"

namespace ffn::cpu {

/// M (token, expert, weight) triples; from the arena. No pair of a token and an expert occurs twice.
struct Routing {
  std::int64_t count = 0;                                  ///< M
  const std::int64_t *token = nullptr, *expert = nullptr;  ///< (M)
  const float* weight = nullptr;                           ///< (M)
  const float* score = nullptr;                            ///< (N, E), what it chose by
};

/// Sums over a batch from which auxiliary losses are computed.
struct RoutingTotals {
  std::int64_t tokens = 0, triples = 0, sequences = 0, dropped = 0;  ///< N, M
  std::vector<std::int64_t> assigned;                                ///< (E) of the triples
  std::vector<double> probability;                                   ///< (E) Σ over the tokens
  std::vector<double> importance;                                    ///< (E) Σ of the weights
  double squared_log_sum = 0;                                        ///< Σ (log Σ exp logits)²
  double sequence_balance = 0;                                       ///< Σ over the sequences

  RoutingTotals& operator+=(const RoutingTotals& other);
  /// Share of the triples that an expert got.
  double load(std::size_t expert) const { return static_cast<double>(assigned[expert]) / static_cast<double>(triples); }
  double value(Auxiliary kind) const;
};

class Router {
 public:
  virtual ~Router() = default;
  /// x: (rows, D), alive until backward.
  virtual Routing route(Pass& pass, std::int64_t rows, const float* x) = 0;
  /// dweight: (M) → the router's part of dx: (rows, D), from the arena, for the caller to add to. Gradients of the
  /// weights go to the row. The objective multiplies the auxiliary losses by `auxiliary_weights`.
  virtual float* backward(Pass& pass, const float* dweight, const AuxiliaryValues& auxiliary_weights) = 0;
  /// In the order of auxiliary_losses(), by the totals.
  virtual AuxiliaryValues auxiliary_losses() const = 0;
  /// After an optimizer step, by the totals: where a router has numbers that are no gradient's (Role::buffer), they move here.
  virtual void update_buffers(float* /*parameters*/) {}
  /// Totals of the last routing, which the backward pass uses.
  RoutingTotals& totals() { return totals_; }

 protected:
  RoutingTotals totals_;
};

/// The router of a mixture. Kinds that config/coverage.cpp leaves to LibTorch do not get here.
std::unique_ptr<Router> make_router(const Declare& declare, std::int64_t d_model, const MoeConfig& config);

}  // namespace ffn::cpu
