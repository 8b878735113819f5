#include "ffn/layers/moe_torch.hpp"

#include "ffn/formula/activation_formula.hpp"

namespace ffn::modules {

ExpertsImpl::ExpertsImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config)
    : RunModule(num_runs), phi_(activation_called(config.activation)) {
  const auto d_ff = config.hidden_width(d_model), experts = config.num_experts;
  if (config.gated) gate_ = register_module("gate", GroupedLinear(num_runs, experts, d_model, d_ff, config.bias));
  up_ = register_module("up", GroupedLinear(num_runs, experts, d_model, d_ff, config.bias));
  down_ = register_module("down", GroupedLinear(num_runs, experts, d_ff, d_model, config.bias));
}

Tensor ExpertsImpl::hidden(const Tensor& x, const std::vector<std::int64_t>& offsets, const ForwardContext& context) {
  if (gate_.is_empty()) return activate(phi_, up_(x, offsets), context);
  return activate(phi_, gate_(x, offsets), context) * up_(x, offsets);
}

Tensor ExpertsImpl::output(const Tensor& hidden, const std::vector<std::int64_t>& offsets) { return down_(hidden, offsets); }

Tensor ExpertsImpl::hidden_of_all(const Tensor& x, const ForwardContext& context) {
  const auto experts = up_->weight.size(1);
  const Tensor every = x.unsqueeze(1).expand({x.size(0), experts, x.size(1), x.size(2)}).reshape({-1, x.size(1), x.size(2)});
  if (gate_.is_empty()) return activate(phi_, up_->all(every), context);
  return activate(phi_, gate_->all(every), context) * up_->all(every);
}

Tensor ExpertsImpl::output_of_all(const Tensor& hidden) { return down_->all(hidden); }

namespace {

std::shared_ptr<FeedForward> make_shared_expert(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site) {
  PositionwiseConfig plain;
  GatedConfig gated;
  static_cast<FfnSize&>(plain) = static_cast<FfnSize&>(gated) = config.shared_size(d_model);
  return make_ffn(num_runs, d_model, config.gated ? FfnConfig(gated) : FfnConfig(plain), shared_site(site));
}

}  // namespace

MoEImpl::MoEImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : FeedForward(num_runs), num_experts_(config.num_experts), site_(site) {
  router_ = register_module("router", make_router(num_runs, d_model, config, site));
  if (config.expert) formulas_ = register_module("experts", FormulaExperts(num_runs, d_model, config, site));
  else experts_ = register_module("experts", Experts(num_runs, d_model, config));
  if (config.shared_experts > 0) shared_ = register_module("shared", make_shared_expert(num_runs, d_model, config, site));
}

namespace {

// Assignments (a run's triples) in the order of their group r·E + e; within a group, in token order.
struct Dispatch {
  Tensor order;                       ///< (R·M) int64: the assignment at each sorted place
  Tensor place;                       ///< (R·M) int64: the inverse
  std::vector<std::int64_t> offsets;  ///< R·E + 1
};

// The same on a device: one wait, for the offsets.
Dispatch sort_on_device(const Tensor& expert, std::int64_t num_experts) {
  const Tensor runs = torch::arange(expert.size(0), expert.options()).unsqueeze(1);
  const auto [sorted, order] = (expert + runs * num_experts).flatten().sort(/*stable=*/true, /*dim=*/0, /*descending=*/false);
  const Tensor groups = torch::arange(expert.size(0) * num_experts + 1, expert.options());
  const Tensor offsets = torch::searchsorted(sorted, groups).to(torch::kCPU);
  const auto* begin = offsets.data_ptr<std::int64_t>();
  const Tensor place = torch::empty_like(order).scatter_(0, order, torch::arange(order.size(0), order.options()));
  return {order, place, {begin, begin + offsets.numel()}};
}

// Rows in another order, whose gradients are rows in another order, too; an index's would be added up.
struct Reordered : torch::autograd::Function<Reordered> {
  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& rows, const Tensor& order, const Tensor& place) {
    ctx->save_for_backward({place});
    return rows.index_select(0, order);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, const torch::autograd::variable_list& gradients) {
    return {gradients[0].index_select(0, ctx->get_saved_variables()[0]), Tensor(), Tensor()};
  }
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
  const Routing routing = [&] {
    const ProductPrecision full(false, x.device());
    return router_->forward(widened(x), context);
  }();
  Tensor y = context.host_free && !context.waits ? by_all(x, routing, context) : by_groups(x, routing, context);
  if (shared_) y = y + shared_->forward(x, context).y;
  return {y, routing.auxiliary, routing.load};
}

Tensor MoEImpl::by_groups(const Tensor& x, const Routing& routing, const ForwardContext& context) {
  const auto runs = x.size(0), tokens = x.size(1), d_model = x.size(2), count = routing.expert.size(1);
  const Dispatch dispatch = context.host_free ? sort_on_device(routing.expert, num_experts_) : sort_by_expert(routing.expert, num_experts_);
  const auto rows_by_expert = [&] {  // (R·M, D)
    if (context.host_free && routing.per_token > 0) {
      const Tensor rows = x.unsqueeze(2).expand({runs, tokens, routing.per_token, d_model}).reshape({-1, d_model});
      return Reordered::apply(rows, dispatch.order, dispatch.place);
    }
    // One table of all runs' tokens, each run's numbers shifted to its part.
    const Tensor shift = torch::arange(runs, routing.token.options()).mul_(tokens).unsqueeze(1);
    const Tensor token = (routing.token + shift).flatten().index_select(0, dispatch.order);
    return x.reshape({runs * tokens, d_model}).index_select(0, token);
  };
  const Tensor sorted = rows_by_expert();
  const auto drop = [&](const Tensor& h, std::uint32_t site) {  // (R·M, W)
    return dropout(h.reshape({runs, count, -1}), context, site).reshape_as(h);
  };
  Tensor result;  // (R·M, D)
  if (formulas_) {
    result = formulas_(sorted, dispatch.offsets, context, drop);
  } else {
    const Tensor hidden = experts_->hidden(sorted, dispatch.offsets, context);  // (R·M, F)
    result = experts_->output(drop(hidden, site_), dispatch.offsets);
  }

  const Tensor back = context.host_free ? Reordered::apply(result, dispatch.place, dispatch.order) : result.index_select(0, dispatch.place);
  const Tensor returned = back.reshape({runs, count, d_model});
  return routing.add_up(returned * routing.weight.unsqueeze(-1), tokens);  // (R, N, D)
}

namespace {

// The place that by_groups gives each (token, expert) pair among its run's rows, and any place for pairs that were not
// chosen. chosen: (R, N, E) of 0 and 1 → (R, N, E) int64.
Tensor sorted_places(const Tensor& chosen) {
  const Tensor counted = chosen.to(torch::kInt64);
  const Tensor earlier_tokens = counted.cumsum(1) - counted;  // of the same expert
  const Tensor load = counted.sum(1, /*keepdim=*/true);       // (R, 1, E)
  const Tensor earlier_experts = load.cumsum(2) - load;
  return earlier_tokens + earlier_experts;
}

}  // namespace

Tensor MoEImpl::by_all(const Tensor& x, const Routing& routing, const ForwardContext& context) {
  const auto runs = x.size(0), tokens = x.size(1), d_model = x.size(2), count = routing.expert.size(1);
  Tensor place;  // (R, E·N, 1)
  if (context.drops())
    place = sorted_places(routing.dense(torch::ones_like(routing.weight), tokens, num_experts_))
                .clamp_max(count - 1)
                .transpose(1, 2)
                .reshape({runs, num_experts_ * tokens, 1});
  const auto drop = [&](const Tensor& h, std::uint32_t site) {  // (R·E, N, W)
    if (!context.drops()) return h;
    const Tensor mask = dropout_mask(h, context, site, {runs, count, h.size(-1)});
    return h * mask.gather(1, place.expand({runs, num_experts_ * tokens, h.size(-1)})).view_as(h);
  };
  Tensor result;  // (R·E, N, D)
  if (formulas_) result = formulas_->all(x, context, drop);
  else result = experts_->output_of_all(drop(experts_->hidden_of_all(x, context), site_));
  result = result.view({runs, num_experts_, tokens, d_model});
  return (result * routing.dense(routing.weight, tokens, num_experts_).transpose(1, 2).unsqueeze(-1)).sum(1);  // (R, N, D)
}

}  // namespace ffn::modules
