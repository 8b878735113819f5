#include "ffn/nn/moe.hpp"

namespace ffn::nn {

TopKRouterImpl::TopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, std::int64_t num_experts, std::int64_t top_k)
    : RunModule(num_runs), num_experts_(num_experts), top_k_(top_k) {
  gate_ = register_module("gate", Linear(num_runs, d_model, num_experts, /*bias=*/false));
}

Routing TopKRouterImpl::forward(const Tensor& x) {
  const Tensor probability = gate_(x).softmax(-1);            // (R, N, E)
  const auto [top, expert] = probability.topk(top_k_, -1);    // (R, N, K) twice
  const Tensor weight = top / top.sum(-1, /*keepdim=*/true);  // (R, N, K)

  const auto runs = x.size(0);
  const auto assignments = expert.numel() / runs;  // N·K
  const Tensor count = torch::zeros({runs, num_experts_}, x.options())
                           .scatter_add_(1, expert.reshape({runs, assignments}), torch::ones({runs, assignments}, x.options()));
  const Tensor load = count / static_cast<double>(assignments);  // (R, E), a constant to autograd
  const Tensor balance = static_cast<double>(num_experts_) * (load * probability.mean(1)).sum(-1);
  return {weight, expert, balance, load};
}

ExpertsImpl::ExpertsImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config)
    : RunModule(num_runs), phi_(activation(config.activation)) {
  const auto d_ff = config.hidden_width(d_model), experts = config.num_experts;
  if (config.gated) gate_ = register_module("gate", GroupedLinear(num_runs, experts, d_model, d_ff, config.bias));
  up_ = register_module("up", GroupedLinear(num_runs, experts, d_model, d_ff, config.bias));
  down_ = register_module("down", GroupedLinear(num_runs, experts, d_ff, d_model, config.bias));
}

Tensor ExpertsImpl::hidden(const Tensor& x, const std::vector<std::int64_t>& offsets) {
  if (gate_.is_empty()) return activate(phi_, up_(x, offsets));
  return activate(phi_, gate_(x, offsets)) * up_(x, offsets);
}

Tensor ExpertsImpl::output(const Tensor& hidden, const std::vector<std::int64_t>& offsets) { return down_(hidden, offsets); }

MoEImpl::MoEImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : FeedForward(num_runs), num_experts_(config.num_experts), top_k_(config.top_k), site_(site) {
  router_ = register_module("router", TopKRouter(num_runs, d_model, num_experts_, top_k_));
  experts_ = register_module("experts", Experts(num_runs, d_model, config));
}

namespace {

// Assignments (one per run, token and choice) in the order of their group r·E + e; within a group, in token order.
struct Dispatch {
  Tensor order;                       ///< (R·N·K) int64: the assignment at each sorted place
  Tensor place;                       ///< (R·N·K) int64: the inverse
  std::vector<std::int64_t> offsets;  ///< R·E + 1
};

// A counting sort: stable, linear, and a run's order does not depend on its neighbours.
Dispatch sort_by_expert(const Tensor& expert, std::int64_t num_experts) {
  const auto runs = expert.size(0), per_run = expert.numel() / runs;
  const Tensor flat = expert.contiguous();
  const auto* id = flat.data_ptr<std::int64_t>();
  const auto group = [&](std::int64_t i) { return static_cast<size_t>(i / per_run * num_experts + id[i]); };

  Dispatch d{torch::empty({flat.numel()}, torch::kInt64), torch::empty({flat.numel()}, torch::kInt64), {}};
  d.offsets.assign(static_cast<size_t>(runs * num_experts + 1), 0);
  for (std::int64_t i = 0; i < flat.numel(); ++i) ++d.offsets[group(i) + 1];
  for (size_t g = 1; g < d.offsets.size(); ++g) d.offsets[g] += d.offsets[g - 1];
  auto next = d.offsets;
  auto* order = d.order.data_ptr<std::int64_t>();
  auto* place = d.place.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    place[i] = next[group(i)]++;
    order[place[i]] = i;
  }
  return d;
}

}  // namespace

FfnOutput MoEImpl::forward(const Tensor& x, const ForwardContext& context) {
  const auto runs = x.size(0), tokens = x.size(1), d_model = x.size(2);
  const Routing routing = router_(x);
  const Dispatch dispatch = sort_by_expert(routing.expert, num_experts_);

  const Tensor sorted = x.reshape({runs * tokens, d_model}).index_select(0, dispatch.order.div(top_k_, "floor"));  // (R·N·K, D)
  const Tensor hidden = experts_->hidden(sorted, dispatch.offsets);                                                // (R·N·K, F)
  const Tensor dropped = dropout(hidden.reshape({runs, tokens * top_k_, -1}), context, site_).reshape_as(hidden);
  const Tensor result = experts_->output(dropped, dispatch.offsets);  // (R·N·K, D)

  const Tensor returned = result.index_select(0, dispatch.place).reshape({runs, tokens, top_k_, d_model});
  const Tensor y = (returned * routing.weight.unsqueeze(-1)).sum(2);  // (R, N, D)
  return {y, routing.balance_loss, routing.load};
}

}  // namespace ffn::nn
