#include "ffn/layers/router_torch.hpp"

#include <limits>

namespace ffn::nn {

SoftmaxTopKRouterImpl::SoftmaxTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config)
    : Router(num_runs), num_experts_(config.num_experts), top_k_(config.top_k) {
  gate_ = register_module("gate", Linear(num_runs, d_model, num_experts_, /*bias=*/false));
}

Routing SoftmaxTopKRouterImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor probability = gate_(x).softmax(-1);  // (R, N, E)
  // topk promises no order among equals.
  const auto sorted = probability.detach().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const Tensor expert = std::get<1>(sorted).narrow(-1, 0, top_k_);  // (R, N, K) int64, the largest first
  if (context.margins && top_k_ < num_experts_) {
    const Tensor last = std::get<0>(sorted).select(-1, top_k_ - 1), next = std::get<0>(sorted).select(-1, top_k_);
    // What float32 cannot tell from 0 weighs nothing, whichever expert it is.
    context.margins->push_back((last - next) / last.clamp_min(std::numeric_limits<float>::min()));
  }
  const Tensor is_expert = expert.unsqueeze(-1).eq(torch::arange(num_experts_, expert.options()));  // (R, N, K, E)
  const Tensor chosen = is_expert.any(2).to(x.scalar_type());                                       // (R, N, E)
  const Tensor kept = probability * chosen;
  const Tensor weight_of = top_k_ == 1 ? kept : kept / kept.sum(-1, /*keepdim=*/true);     // (R, N, E)
  const Tensor weight = (weight_of.unsqueeze(2) * is_expert.to(x.scalar_type())).sum(-1);  // (R, N, K)

  const auto assignments = static_cast<double>(x.size(1) * top_k_);  // N·K
  const Tensor load = chosen.sum(1) / assignments;                   // (R, E), a constant to autograd
  const Tensor balance = static_cast<double>(num_experts_) * (load * probability.mean(1)).sum(-1);
  return {weight, expert, chosen, weight_of, balance, load};
}

namespace {

// One overload per alternative of RouterConfig: a kind without one does not compile.
struct BuildRouter {
  std::int64_t num_runs, d_model;
  const MoeConfig& config;

  std::shared_ptr<Router> operator()(const SoftmaxTopKConfig&) const {
    return std::make_shared<SoftmaxTopKRouterImpl>(num_runs, d_model, config);
  }
};

}  // namespace

std::shared_ptr<Router> make_router(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config) {
  return std::visit(BuildRouter{num_runs, d_model, config}, config.router);
}

}  // namespace ffn::nn
