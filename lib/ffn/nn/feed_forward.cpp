#include "ffn/nn/feed_forward.hpp"

#include "ffn/nn/moe.hpp"

namespace ffn::nn {

PositionwiseFeedForwardImpl::PositionwiseFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const PositionwiseConfig& config,
                                                         std::uint32_t site)
    : FeedForward(num_runs), phi_(activation(config.activation)), site_(site) {
  const auto d_ff = config.hidden_width(d_model);
  up_ = register_module("up", Linear(num_runs, d_model, d_ff, config.bias));
  down_ = register_module("down", Linear(num_runs, d_ff, d_model, config.bias));
}

FfnOutput PositionwiseFeedForwardImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor hidden = activate(phi_, up_(x), context);    // (R, N, F)
  return {down_(dropout(hidden, context, site_)), {}, {}};  // (R, N, D)
}

GatedFeedForwardImpl::GatedFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const GatedConfig& config, std::uint32_t site)
    : FeedForward(num_runs), phi_(activation(config.activation)), site_(site) {
  const auto d_ff = config.hidden_width(d_model);
  gate_ = register_module("gate", Linear(num_runs, d_model, d_ff, config.bias));
  up_ = register_module("up", Linear(num_runs, d_model, d_ff, config.bias));
  down_ = register_module("down", Linear(num_runs, d_ff, d_model, config.bias));
}

FfnOutput GatedFeedForwardImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor hidden = activate(phi_, gate_(x), context) * up_(x);  // (R, N, F)
  return {down_(dropout(hidden, context, site_)), {}, {}};           // (R, N, D)
}

namespace {

// One overload per alternative of FfnConfig: a kind without one does not compile.
struct Build {
  std::int64_t num_runs, d_model;
  std::uint32_t site;

  std::shared_ptr<FeedForward> operator()(const PositionwiseConfig& c) const {
    return std::make_shared<PositionwiseFeedForwardImpl>(num_runs, d_model, c, site);
  }
  std::shared_ptr<FeedForward> operator()(const GatedConfig& c) const {
    return std::make_shared<GatedFeedForwardImpl>(num_runs, d_model, c, site);
  }
  std::shared_ptr<FeedForward> operator()(const MoeConfig& c) const { return std::make_shared<MoEImpl>(num_runs, d_model, c, site); }
  std::shared_ptr<FeedForward> operator()(const NoFfnConfig&) const { return nullptr; }
};

}  // namespace

std::shared_ptr<FeedForward> make_ffn(std::int64_t num_runs, std::int64_t d_model, const FfnConfig& config, std::uint32_t site) {
  return std::visit(Build{num_runs, d_model, site}, config);
}

}  // namespace ffn::nn
