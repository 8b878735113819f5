// The feed-forward layers by hand: the formulas of layers/feed_forward_torch.hpp with their backward passes.
#pragma once

#include <memory>
#include <optional>

#include "ffn/config/metrics.hpp"
#include "ffn/config/model_config.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/layers/linear_cpu.hpp"

namespace ffn::fused {

class Router;

class FeedForward {
 public:
  virtual ~FeedForward() = default;
  /// x: (rows, D), alive until backward → y: (rows, D), from the arena.
  virtual const float* forward(Pass& pass, std::int64_t rows, const float* x) = 0;
  /// dy: (rows, D) → dx: (rows, D), from the arena. Gradients of the weights go to the row. The objective
  /// multiplies this layer's auxiliary losses by `auxiliary_weights`.
  virtual const float* backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) = 0;
  /// Of a mixture, nullptr for other layers. Where a batch goes in parts, the totals of its last forward pass have to be summed over
  /// all of them before the backward passes.
  virtual Router* router() { return nullptr; }
};

/// The FFN of a kind, or nullptr for "none". `site` numbers the layer for its dropout masks.
std::unique_ptr<FeedForward> make_feed_forward(const Declare& declare, std::int64_t d_model, const FfnConfig& config, std::uint32_t site);

/// The activated hidden layer, plain φ(x W + b) or gated φ(x W_gate + b_gate) ⊙ (x W + b), with dropout; `Map` is Linear for
/// one FFN or GroupedLinear for experts, `Rows` what that takes to know its rows.
template <class Map, class Rows>
class Hidden {
 public:
  /// make: (where it is declared, D_in, D_out) → Map
  template <class Make>
  Hidden(const Declare& declare, std::int64_t d_model, const FfnSize& config, bool gated, std::uint32_t site, const Make& make)
      : gate_(gated ? std::optional<Map>(make(declare.in("gate"), d_model, config.hidden_width(d_model))) : std::nullopt),
        up_(make(declare.in("up"), d_model, config.hidden_width(d_model))),
        phi_(activation_called(config.activation)),
        d_ff_(config.hidden_width(d_model)),
        site_(site) {}
  /// x: (count, D) → h: (count, F)
  const float* forward(Pass& pass, Rows rows, std::int64_t count, const float* x);
  /// dh: (count, F), overwritten → dx: (count, D)
  float* backward(Pass& pass, Rows rows, float* dh);

 private:
  std::optional<Map> gate_;
  Map up_;
  const Activation& phi_;
  std::int64_t d_ff_;
  std::uint32_t site_;
  // Of the pass at work:
  std::int64_t count_ = 0;
  const float* x_ = nullptr;
  float *slope_ = nullptr, *up_value_ = nullptr, *phi_value_ = nullptr, *mask_ = nullptr;
};

extern template class Hidden<Linear, std::int64_t>;
extern template class Hidden<GroupedLinear, const std::int64_t*>;

}  // namespace ffn::fused
