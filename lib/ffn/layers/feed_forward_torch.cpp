#include "ffn/layers/feed_forward_torch.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/layers/formula_torch.hpp"
#include "ffn/layers/memory_torch.hpp"
#include "ffn/layers/moe_torch.hpp"

namespace ffn::modules {

PositionwiseFeedForwardImpl::PositionwiseFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const PositionwiseConfig& config,
                                                         std::uint32_t site)
    : FeedForward(num_runs), phi_(activation_called(config.activation)), site_(site) {
  const auto d_ff = config.hidden_width(d_model);
  up_ = register_module("up", Linear(num_runs, d_model, d_ff, config.bias));
  down_ = register_module("down", Linear(num_runs, d_ff, d_model, config.bias));
}

FfnOutput PositionwiseFeedForwardImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor hidden = activate(phi_, up_(x), context);    // (R, N, F)
  return {down_(dropout(hidden, context, site_)), {}, {}};  // (R, N, D)
}

GatedFeedForwardImpl::GatedFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const GatedConfig& config, std::uint32_t site)
    : FeedForward(num_runs), phi_(activation_called(config.activation)), site_(site) {
  const auto d_ff = config.hidden_width(d_model);
  gate_ = register_module("gate", Linear(num_runs, d_model, d_ff, config.bias));
  up_ = register_module("up", Linear(num_runs, d_model, d_ff, config.bias));
  down_ = register_module("down", Linear(num_runs, d_ff, d_model, config.bias));
}

FfnOutput GatedFeedForwardImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor hidden = activate(phi_, gate_(x), context) * up_(x);  // (R, N, F)
  return {down_(dropout(hidden, context, site_)), {}, {}};           // (R, N, D)
}

Conv1x1Impl::PointwiseImpl::PointwiseImpl(std::int64_t num_runs, std::int64_t d_in, std::int64_t d_out, bool bias) : RunModule(num_runs) {
  const auto parameters = linear_parameters(d_in, d_out, bias);
  weight_ = parameter(parameters.weight);
  bias_ = parameter(parameters.bias);
}

// Run by run: what kernel a convolution of several groups takes depends on how many there are.
Tensor Conv1x1Impl::PointwiseImpl::forward(const Tensor& x) {
  std::vector<Tensor> runs;
  for (std::int64_t r = 0; r < num_runs(); ++r)
    runs.push_back(torch::conv1d(x.narrow(0, r, 1), weight_[r].t().unsqueeze(-1), bias_.defined() ? bias_[r] : Tensor()));
  return torch::cat(runs);
}

Conv1x1Impl::Conv1x1Impl(std::int64_t num_runs, std::int64_t d_model, const Conv1x1Config& config, std::uint32_t site)
    : FeedForward(num_runs), phi_(activation_called(config.activation)), site_(site) {
  const auto d_ff = config.hidden_width(d_model);
  up_ = register_module("up", Pointwise(num_runs, d_model, d_ff, config.bias));
  down_ = register_module("down", Pointwise(num_runs, d_ff, d_model, config.bias));
}

FfnOutput Conv1x1Impl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor hidden = activate(phi_, up_(x.transpose(1, 2)), context).transpose(1, 2);    // (R, N, F)
  return {down_(dropout(hidden, context, site_).transpose(1, 2)).transpose(1, 2), {}, {}};  // (R, N, D)
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
  std::shared_ptr<FeedForward> operator()(const FormulaConfig& c) const {
    return std::make_shared<FormulaImpl>(num_runs, d_model, c, site);
  }
  std::shared_ptr<FeedForward> operator()(const Conv1x1Config& c) const {
    return std::make_shared<Conv1x1Impl>(num_runs, d_model, c, site);
  }
  std::shared_ptr<FeedForward> operator()(const PkmConfig& c) const { return std::make_shared<PkmImpl>(num_runs, d_model, c); }
  std::shared_ptr<FeedForward> operator()(const PeerConfig& c) const { return std::make_shared<PeerImpl>(num_runs, d_model, c); }
  std::shared_ptr<FeedForward> operator()(const NoFfnConfig&) const { return nullptr; }
};

}  // namespace

std::shared_ptr<FeedForward> make_ffn(std::int64_t num_runs, std::int64_t d_model, const FfnConfig& config, std::uint32_t site) {
  return std::visit(Build{num_runs, d_model, site}, config);
}

}  // namespace ffn::modules
