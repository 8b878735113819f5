#include "ffn/layers/feed_forward_cpu.hpp"

#include <algorithm>
#include <stdexcept>

#include "ffn/kernels/dropout.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/formula_cpu.hpp"
#include "ffn/layers/moe_cpu.hpp"

namespace ffn::fused {

namespace {

// Element-wise work goes piece by piece, so that what one function wrote is still in the cache for the next.
template <class F>
void in_pieces(std::int64_t n, const F& f) {
  constexpr std::int64_t kCached = 2048;
  for (std::int64_t i = 0; i < n; i += kCached) f(i, std::min(kCached, n - i));
}

}  // namespace

template <class Map, class Rows>
const float* Hidden<Map, Rows>::forward(Pass& pass, Rows rows, std::int64_t count, const float* x) {
  const std::int64_t n = count * d_ff_;
  count_ = count;
  x_ = x;
  float* h = pass.arena.floats(n);
  slope_ = (gate_ ? *gate_ : up_).forward(pass, rows, x);  // z, until its slope takes its place
  pass.show(Value::pre_activation, count, d_ff_, slope_);
  if (gate_) {
    up_value_ = up_.forward(pass, rows, x);
    phi_value_ = pass.arena.floats(n);
  }
  mask_ = pass.training && pass.dropout_rate > 0 ? pass.arena.floats(n) : nullptr;
  in_pieces(n, [&](std::int64_t i, std::int64_t size) {
    const auto floats = static_cast<std::size_t>(size);
    phi_.values_and_slopes(floats, slope_ + i, (gate_ ? phi_value_ : h) + i, slope_ + i);
    if (gate_) kernels().multiply(size, phi_value_ + i, up_value_ + i, h + i);
    if (!mask_) return;
    dropout_mask(floats, pass.dropout_rate, pass.dropout_seed, site_, static_cast<std::uint64_t>(pass.step), mask_ + i,
                 static_cast<std::size_t>(pass.first_row * d_ff_ + i));
    kernels().multiply(size, h + i, mask_ + i, h + i);
  });
  if (gate_) {
    pass.show(Value::gate, count, d_ff_, phi_value_);
    pass.show(Value::up, count, d_ff_, up_value_);
  }
  pass.show(Value::hidden, count, d_ff_, h);
  return h;
}

template <class Map, class Rows>
float* Hidden<Map, Rows>::backward(Pass& pass, Rows rows, float* dh) {
  // h = φ(z) ⊙ mask, or φ(z) ⊙ u ⊙ mask: du = dh ⊙ φ(z), dz = dh ⊙ u ⊙ φ'(z)
  float *du = phi_value_, *dz = gate_ ? up_value_ : dh;
  in_pieces(count_ * d_ff_, [&](std::int64_t i, std::int64_t size) {
    if (mask_) kernels().multiply(size, dh + i, mask_ + i, dh + i);
    if (gate_) {
      kernels().multiply(size, dh + i, phi_value_ + i, du + i);
      kernels().multiply(size, dh + i, up_value_ + i, dz + i);
    }
    kernels().multiply(size, dz + i, slope_ + i, dz + i);
  });
  if (!gate_) {
    up_.weight_gradient(pass, rows, x_, dz);
    return up_.input_gradient(pass, rows, dz);
  }
  gate_->weight_gradient(pass, rows, x_, dz);
  up_.weight_gradient(pass, rows, x_, du);
  float* dx = gate_->input_gradient(pass, rows, dz);
  up_.add_input_gradient(pass, rows, du, dx);
  return dx;
}

template class Hidden<Linear, std::int64_t>;
template class Hidden<GroupedLinear, const std::int64_t*>;

namespace {

/// Plain and gated: a hidden layer and a linear map back.
class Dense final : public FeedForward {
 public:
  Dense(const Declare& declare, std::int64_t d_model, const FfnSize& config, bool gated, std::uint32_t site)
      : hidden_(declare, d_model, config, gated, site,
                [&](const Declare& at, std::int64_t d_in, std::int64_t d_out) { return Linear(at, d_in, d_out, config.bias); }),
        down_(declare.in("down"), config.hidden_width(d_model), d_model, config.bias) {}

  const float* forward(Pass& pass, std::int64_t rows, const float* x) override {
    rows_ = rows;
    h_ = hidden_.forward(pass, rows, rows, x);
    return down_.forward(pass, rows, h_);
  }
  const float* backward(Pass& pass, const float* dy, const AuxiliaryValues&) override {
    down_.weight_gradient(pass, rows_, h_, dy);
    return hidden_.backward(pass, rows_, down_.input_gradient(pass, rows_, dy));
  }

 private:
  Hidden<Linear, std::int64_t> hidden_;
  Linear down_;
  std::int64_t rows_ = 0;
  const float* h_ = nullptr;
};

struct BuildFeedForward {
  const Declare& declare;
  std::int64_t d_model;
  std::uint32_t site;

  std::unique_ptr<FeedForward> operator()(const PositionwiseConfig& c) const {
    return std::make_unique<Dense>(declare, d_model, c, false, site);
  }
  std::unique_ptr<FeedForward> operator()(const GatedConfig& c) const { return std::make_unique<Dense>(declare, d_model, c, true, site); }
  std::unique_ptr<FeedForward> operator()(const MoeConfig& c) const { return std::make_unique<MoE>(declare, d_model, c, site); }
  std::unique_ptr<FeedForward> operator()(const FormulaConfig& c) const {
    return std::make_unique<FormulaFeedForward>(declare, d_model, c, site);
  }
  std::unique_ptr<FeedForward> operator()(const NoFfnConfig&) const { return nullptr; }
  // A layer that exists in nn alone, which config/coverage.cpp keeps away from here.
  template <class Config>
  std::unique_ptr<FeedForward> operator()(const Config&) const {
    throw std::logic_error(std::string("the FFN kind ") + Config::kKind +
                           " has no fused form: write one in layers/feed_forward_cpu.cpp, or say only_nn in config/coverage.cpp");
  }
};

}  // namespace

std::unique_ptr<FeedForward> make_feed_forward(const Declare& declare, std::int64_t d_model, const FfnConfig& config, std::uint32_t site) {
  return std::visit(BuildFeedForward{declare, d_model, site}, config);
}

}  // namespace ffn::fused
