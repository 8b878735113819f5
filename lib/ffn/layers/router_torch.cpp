#include "ffn/layers/router_torch.hpp"

#include <limits>

namespace ffn::nn {

namespace {

// 1 where the id is the column's, (R, M) int64 → (R, M, count)
Tensor columns(const Tensor& ids, std::int64_t count, const Tensor& like) {
  return ids.unsqueeze(-1).eq(torch::arange(count, ids.options())).to(like.scalar_type());
}

}  // namespace

Tensor Routing::add_up(const Tensor& rows, std::int64_t num_tokens) const {
  if (per_token > 0) return rows.view({rows.size(0), num_tokens, per_token, rows.size(2)}).sum(2);
  return torch::bmm(columns(token, num_tokens, rows).transpose(1, 2), rows);
}

Tensor Routing::dense(const Tensor& values, std::int64_t num_tokens, std::int64_t num_experts) const {
  return add_up(values.unsqueeze(-1) * columns(expert, num_experts, values), num_tokens);
}

TopK select_top_k(const Tensor& scores, std::int64_t k, const ForwardContext& context) {
  const auto num_experts = scores.size(-1);
  // topk promises no order among equals.
  const auto sorted = scores.detach().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const Tensor expert = std::get<1>(sorted).narrow(-1, 0, k);
  if (context.margins && k < num_experts) {
    const Tensor last = std::get<0>(sorted).select(-1, k - 1), next = std::get<0>(sorted).select(-1, k);
    // What float32 cannot tell from 0 weighs nothing, whichever expert it is.
    context.margins->push_back((last - next) / last.clamp_min(std::numeric_limits<float>::min()));
  }
  const Tensor is_expert = expert.unsqueeze(-1).eq(torch::arange(num_experts, expert.options()));
  return {expert, is_expert, is_expert.any(2).to(scores.scalar_type())};
}

Routing route_top_k(const TopK& top, const Tensor& weight_of) {
  const auto runs = top.expert.size(0), tokens = top.expert.size(1), k = top.expert.size(2);
  const Tensor weight = (weight_of.unsqueeze(2) * top.is_expert.to(weight_of.scalar_type())).sum(-1);  // (R, N, K)
  const Tensor token = torch::arange(tokens * k, top.expert.options()).div(k, "floor").expand({runs, tokens * k});
  Routing routing{token, top.expert.reshape({runs, tokens * k}), weight.view({runs, tokens * k}), k};
  routing.load = top.chosen.sum(1) / static_cast<double>(tokens * k);
  return routing;
}

Tensor balance_loss(const Tensor& load, const Tensor& probability) {
  return static_cast<double>(load.size(-1)) * (load * probability.mean(1)).sum(-1);
}

SoftmaxTopKRouterImpl::SoftmaxTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config)
    : Router(num_runs), top_k_(config.top_k) {
  gate_ = register_module("gate", Linear(num_runs, d_model, config.num_experts, /*bias=*/false));
}

Routing SoftmaxTopKRouterImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor probability = gate_(x).softmax(-1);  // (R, N, E)
  const TopK top = select_top_k(probability, top_k_, context);
  const Tensor kept = probability * top.chosen;
  Routing routing = route_top_k(top, top_k_ == 1 ? kept : kept / kept.sum(-1, /*keepdim=*/true));
  routing.auxiliary = {balance_loss(routing.load, probability)};
  return routing;
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
