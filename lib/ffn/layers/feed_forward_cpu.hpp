// The feed-forward layers of the CPU network: plain, gated and formula layers are a FormulaProgram (formula_cpu.hpp), mixtures have
// several.
#pragma once

#include <memory>

#include "ffn/config/metrics.hpp"
#include "ffn/config/model_config.hpp"
#include "ffn/layers/declare.hpp"
#include "ffn/layers/pass.hpp"

namespace ffn::cpu {

class Router;

class FeedForward {
 public:
  virtual ~FeedForward() = default;
  /// x: (rows, D), alive until backward → y: (rows, D), from the arena.
  virtual const float* forward(Pass& pass, std::int64_t rows, const float* x) = 0;
  /// dy: (rows, D) → dx: (rows, D), from the arena. Gradients of the weights go to the row. The objective
  /// multiplies this layer's auxiliary losses by `auxiliary_weights`.
  virtual const float* backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) = 0;
  /// The router of a mixture, else nullptr. If a batch goes in parts, the totals of its last forward pass have to be summed over all of
  /// them before the backward passes.
  virtual Router* router() { return nullptr; }
};

/// The FFN of a kind, or nullptr for "none". `site` numbers the layer for its dropout masks.
std::unique_ptr<FeedForward> make_feed_forward(const Declare& declare, std::int64_t d_model, const FfnConfig& config, std::uint32_t site);

}  // namespace ffn::cpu
