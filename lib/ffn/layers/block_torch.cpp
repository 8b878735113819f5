#include "ffn/layers/block_torch.hpp"

#include "ffn/layers/activation_torch.hpp"

namespace ffn::modules {

BlockImpl::BlockImpl(std::int64_t num_runs, const ModelConfig& config, std::int64_t sequence_length, std::uint32_t index,
                     const std::shared_ptr<FeedForward>& shared)
    : RunModule(num_runs),
      residual_(config.residual),
      parallel_(config.parallel),
      residual_dropout_(config.residual_dropout),
      ffn_(shared),
      site_shift_(shared ? index : 0) {
  if (config.attention) {
    attention_ =
        register_module("attention", Attention(num_runs, config.d_model, sequence_length, *config.attention, config.positions == "rotary"));
    around_attention_ = make_sublayer(parallel_ ? "input" : "attention", config, residual_site(index, 0));
  }
  if (!shared) ffn_ = make_ffn(num_runs, config.d_model, config.ffn, index);
  if (ffn_) {
    if (!shared) register_module("ffn", ffn_);
    if (parallel_) around_ffn_.site = residual_site(index, 1);  // the one norm is around_attention_.before
    else around_ffn_ = make_sublayer("ffn", config, residual_site(index, 1));
  }
}

BlockImpl::SubLayer BlockImpl::make_sublayer(const std::string& name, const ModelConfig& config, std::uint32_t site) {
  const auto norm = [&](const std::string& suffix) {
    return register_module(name + suffix, Norm(num_runs(), config.d_model, config.norm));
  };
  const auto places = config.norm.places();
  SubLayer sublayer;
  sublayer.site = site;
  if (places.before) sublayer.before = norm("_norm");
  if (places.on_output) sublayer.on_output = norm("_post_norm");
  if (places.after_sum) sublayer.after_sum = norm("_post_norm");
  return sublayer;
}

// after_sum(x + on_output(dropout(f(before(x)))))
template <class F>
Tensor BlockImpl::apply(SubLayer& sublayer, const Tensor& x, const ForwardContext& context, const F& f) {
  const auto maybe = [](Norm& norm, const Tensor& in) { return norm.is_empty() ? in : norm(in); };
  Tensor y = maybe(sublayer.on_output, dropout(f(maybe(sublayer.before, x)), context, sublayer.site, residual_dropout_));
  if (residual_) y = x + y;
  return maybe(sublayer.after_sum, y);
}

Tensor BlockImpl::in_parallel(const Tensor& x, const ForwardContext& context, const std::function<Tensor(const Tensor&)>& attend,
                              const std::function<Tensor(const Tensor&)>& feed) {
  const Tensor in = around_attention_.before.is_empty() ? x : around_attention_.before(x);
  Tensor y = dropout(attend(in), context, around_attention_.site, residual_dropout_);
  if (ffn_) y = y + dropout(feed(in), context, around_ffn_.site, residual_dropout_);
  return residual_ ? x + y : y;
}

FfnOutput BlockImpl::forward(const Tensor& x, std::int64_t sequence_length, const ForwardContext& context) {
  FfnOutput out{x, {}, {}};
  const auto attend = [&](const Tensor& in) { return attention_(in, sequence_length); };
  const auto feed = [&](const Tensor& in) {
    ForwardContext own = context;
    own.site_shift = site_shift_;
    FfnOutput inner = ffn_->forward(in, own);
    out.auxiliary = inner.auxiliary;
    out.load = inner.load;
    return inner.y;
  };
  if (parallel_) {
    out.y = in_parallel(x, context, attend, feed);
    return out;
  }
  if (!attention_.is_empty()) out.y = apply(around_attention_, out.y, context, attend);
  if (ffn_) out.y = apply(around_ffn_, out.y, context, feed);
  return out;
}

}  // namespace ffn::modules
