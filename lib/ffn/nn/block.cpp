#include "ffn/nn/block.hpp"

namespace ffn::nn {

BlockImpl::BlockImpl(std::int64_t num_runs, const ModelConfig& config, std::int64_t sequence_length, std::uint32_t index)
    : RunModule(num_runs), residual_(config.residual) {
  if (config.attention) {
    attention_ = register_module("attention", Attention(num_runs, config.d_model, sequence_length, *config.attention));
    around_attention_ = make_sublayer("attention", config);
  }
  ffn_ = make_ffn(num_runs, config.d_model, config.ffn, index);
  if (ffn_) {
    register_module("ffn", ffn_);
    around_ffn_ = make_sublayer("ffn", config);
  }
}

BlockImpl::SubLayer BlockImpl::make_sublayer(const std::string& name, const ModelConfig& config) {
  SubLayer sublayer;
  const auto& norm = config.norm;
  if (norm.kind == "none") return sublayer;
  if (norm.placement != "post") sublayer.before = register_module(name + "_norm", Norm(num_runs(), config.d_model, norm));
  if (norm.placement != "pre") sublayer.after = register_module(name + "_post_norm", Norm(num_runs(), config.d_model, norm));
  return sublayer;
}

template <class F>
Tensor BlockImpl::apply(SubLayer& sublayer, const Tensor& x, const F& f) {
  const bool sandwich = !sublayer.before.is_empty() && !sublayer.after.is_empty();
  Tensor y = f(sublayer.before.is_empty() ? x : sublayer.before(x));
  if (sandwich) y = sublayer.after(y);
  if (residual_) y = x + y;
  return !sandwich && !sublayer.after.is_empty() ? sublayer.after(y) : y;
}

FfnOutput BlockImpl::forward(const Tensor& x, std::int64_t sequence_length, const ForwardContext& context) {
  FfnOutput out{x, {}, {}};
  if (!attention_.is_empty()) {
    out.y = apply(around_attention_, out.y, [&](const Tensor& in) { return attention_(in, sequence_length); });
  }
  if (ffn_) {
    out.y = apply(around_ffn_, out.y, [&](const Tensor& in) {
      FfnOutput inner = ffn_->forward(in, context);
      out.balance_loss = inner.balance_loss;
      out.load = inner.load;
      return inner.y;
    });
  }
  return out;
}

}  // namespace ffn::nn
