#include "ffn/layers/router_torch.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "ffn/config/metrics.hpp"
#include "ffn/config/parameters.hpp"
#include "ffn/layers/activation_torch.hpp"

namespace ffn::modules {

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
  const ProductPrecision full(false, values.device());
  return add_up(values.unsqueeze(-1) * columns(expert, num_experts, values), num_tokens);
}

TopK select_top_k(const Tensor& scores, std::int64_t k, const ForwardContext& context) {
  const auto num_experts = scores.size(-1);
  // topk promises no order among equals.
  const auto sorted = scores.detach().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const Tensor expert = std::get<1>(sorted).narrow(-1, 0, k);
  if (context.margins && k < num_experts) {
    const Tensor last = std::get<0>(sorted).select(-1, k - 1), next = std::get<0>(sorted).select(-1, k);
    // A weight that float32 cannot tell from 0 is 0, whichever expert it is.
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

Tensor squared_variation(const Tensor& values) {
  const Tensor mean = values.mean(-1, /*keepdim=*/true);
  return (values - mean).square().mean(-1) / mean.squeeze(-1).square();
}

Tensor probability_in_top_k(const Tensor& clean, const Tensor& noisy, const Tensor& deviation, std::int64_t k) {
  if (k == noisy.size(-1)) return torch::ones_like(clean);
  const auto sorted = noisy.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const Tensor last = std::get<0>(sorted).narrow(-1, k - 1, 1), next = std::get<0>(sorted).narrow(-1, k, 1);
  const Tensor kept = torch::zeros_like(noisy, torch::kBool).scatter(-1, std::get<1>(sorted).narrow(-1, 0, k), true);
  const Tensor z = (clean - torch::where(kept, next, last)) / deviation;
  return (1 + (z * 0.7071067811865476).erf()) * 0.5;
}

namespace {

// The scores that a router chose by.
struct ChosenBy {
  const Tensor &logits, &probability;  ///< (R, N, E); probabilities add up to 1
  Tensor likely_load = {};             ///< (R, E) of noisy_top_k
  Tensor dropped = {};                 ///< (R), share of the assignments
};

// The mean over a run's sequences of E·Σ fᵢPᵢ of each: (R)
Tensor sequence_balance_loss(const Routing& routing, const Tensor& probability, std::int64_t length) {
  const auto runs = probability.size(0), tokens = probability.size(1), experts = probability.size(2);
  const Tensor chosen = routing.dense(torch::ones_like(routing.weight).detach(), tokens, experts).view({runs, -1, length, experts});
  const Tensor assigned = chosen.sum(2);
  const Tensor load = assigned / assigned.sum(-1, /*keepdim=*/true).clamp_min(1);
  return static_cast<double>(experts) * (load * probability.view({runs, -1, length, experts}).mean(2)).sum(-1).mean(-1);
}

void add_losses(const MoeConfig& config, const ChosenBy& by, const ForwardContext& context, Routing& routing) {
  const auto value = [&](Auxiliary kind) -> Tensor {
    switch (kind) {
      case Auxiliary::balance:
        return balance_loss(routing.load, by.probability);
      case Auxiliary::z:
        return by.logits.logsumexp(-1).square().mean(-1);
      case Auxiliary::importance:
        return squared_variation(routing.dense(routing.weight, by.logits.size(1), by.logits.size(2)).sum(1));
      case Auxiliary::load:
        return squared_variation(by.likely_load);
      case Auxiliary::sequence_balance:
        return sequence_balance_loss(routing, by.probability, context.sequence_length);
      case Auxiliary::dropped:
        return by.dropped;
      case Auxiliary::slots_used:
      case Auxiliary::usage_entropy:
        break;  // of memories
    }
    throw std::logic_error("an auxiliary loss without a value");
  };
  for (const auto& loss : auxiliary_losses(config)) routing.auxiliary.push_back(value(loss.kind));
}

// 1 for assignments that find room, else 0: an expert serves all first choices before any second one, each in token order. (R, N·K)
Tensor within_capacity(const MoeConfig& config, const TopK& top, const ForwardContext& context, const Tensor& like) {
  const auto runs = top.expert.size(0), tokens = top.expert.size(1), k = top.expert.size(2), experts = top.is_expert.size(3);
  if (!config.capacity_factor || !context.training) return torch::ones({runs, tokens * k}, like.options());
  const Tensor served = top.is_expert.transpose(1, 2).reshape({runs, k * tokens, experts}).to(torch::kInt64);
  const Tensor place = ((served.cumsum(1) - served) * served).sum(-1);  // in the queue of its expert
  return place.lt(config.capacity(tokens)).view({runs, k, tokens}).transpose(1, 2).reshape({runs, tokens * k}).to(like.scalar_type());
}

Tensor kept_weights(const TopK& top, const Tensor& score, bool normalized) {
  const Tensor kept = score * top.chosen;
  return normalized && top.expert.size(2) > 1 ? kept / kept.sum(-1, /*keepdim=*/true) : kept;
}

// The losses, then choices beyond the capacity lose their weight.
void finish(const MoeConfig& config, ChosenBy by, const TopK& top, const ForwardContext& context, Routing& routing) {
  if (!config.capacity_factor) return add_losses(config, by, context, routing);
  const Tensor within = within_capacity(config, top, context, routing.weight);
  by.dropped = 1.0 - within.mean(-1);
  add_losses(config, by, context, routing);
  routing.weight = routing.weight * within;
}

}  // namespace

TopKRouterImpl::TopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, const TopKFields& fields,
                               const std::string& score, std::uint32_t site)
    : Router(num_runs), config_(config), fields_(fields), activation_(score == "softmax" ? nullptr : &activation(score)), site_(site) {
  bias_ = parameter(selection_bias_parameter(config, fields));
  gate_ = register_module("gate", Linear(num_runs, d_model, config.num_experts, /*bias=*/false));
}

Routing TopKRouterImpl::forward(const Tensor& x, const ForwardContext& context) {
  const bool jitters = context.training && fields_.jitter > 0;
  const Tensor logits =
      gate_(jitters ? x * (1 - fields_.jitter + 2 * fields_.jitter * uniform_draws(x, context, router_site(site_), x.sizes())) : x);
  const Tensor score = activation_ ? activate(*activation_, logits, context) : logits.softmax(-1);  // (R, N, E)
  const Tensor probability = activation_ ? score / score.sum(-1, /*keepdim=*/true) : score;
  const TopK top = select_top_k(bias_.defined() ? score + bias_.detach().unsqueeze(1) : score, config_.top_k, context);
  const Tensor weight = kept_weights(top, score, fields_.weights == "normalized");
  Routing routing = route_top_k(top, fields_.scale == 1 ? weight : weight * fields_.scale);
  finish(config_, {logits, probability}, top, context, routing);
  return routing;
}

void TopKRouterImpl::update_buffers(const Tensor& load, const Tensor& alive) {
  if (!bias_.defined()) return;
  const torch::NoGradGuard no_grad;
  const Tensor lacking = 1.0 - load * static_cast<double>(config_.num_experts);  // relative to an even share
  Tensor step = torch::where(lacking.abs() < kEvenLoad, torch::zeros_like(lacking), lacking.sign()) * fields_.bias_step;
  if (fields_.center_bias) step = step - step.mean(-1, /*keepdim=*/true);
  bias_.copy_(torch::where(alive, bias_ + step, bias_));
}

NoisyTopKRouterImpl::NoisyTopKRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : Router(num_runs), config_(config), site_(site) {
  noise_ = parameter(router_noise_parameter(d_model, config.num_experts));
  gate_ = register_module("gate", Linear(num_runs, d_model, config.num_experts, /*bias=*/false));
}

Routing NoisyTopKRouterImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor clean = gate_(x);
  Tensor logits = clean, deviation;  // (R, N, E)
  if (context.training) {
    deviation = activate(activation("softplus"), torch::bmm(x, noise_), context) + 0.01;
    logits = clean + deviation * normal_draws(x, context, router_site(site_), clean.sizes());
  }
  const Tensor probability = logits.softmax(-1);
  const TopK top = select_top_k(probability, config_.top_k, context);
  Routing routing = route_top_k(top, kept_weights(top, probability, /*normalized=*/true));
  const Tensor likely = context.training ? probability_in_top_k(clean, logits, deviation, config_.top_k).sum(1) : routing.load;
  finish(config_, {logits, probability, likely}, top, context, routing);
  return routing;
}

ExpertChoiceRouterImpl::ExpertChoiceRouterImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config)
    : Router(num_runs), config_(config) {
  gate_ = register_module("gate", Linear(num_runs, d_model, config.num_experts, /*bias=*/false));
}

Routing ExpertChoiceRouterImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Tensor logits = gate_(x), probability = logits.softmax(-1);  // (R, N, E)
  const auto runs = x.size(0), tokens = x.size(1), experts = probability.size(2);
  const auto each = std::min(tokens, std::max<std::int64_t>(1, tokens * config_.top_k / experts));
  const Tensor best = std::get<1>(probability.detach().transpose(1, 2).sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true));
  const Tensor token = std::get<0>(best.narrow(-1, 0, each).sort(-1)).reshape({runs, experts * each});  // in token order
  const Tensor expert = torch::arange(experts, token.options()).repeat_interleave(each).expand({runs, experts * each});
  const Tensor weight = probability.reshape({runs, tokens * experts}).gather(1, token * experts + expert);
  Routing routing{token, expert, weight, /*per_token=*/0};
  routing.load = torch::full({runs, experts}, 1.0 / static_cast<double>(experts), weight.options());
  add_losses(config_, {logits, probability}, context, routing);
  return routing;
}

namespace {

// One overload per alternative of RouterConfig: a kind without one does not compile.
struct BuildRouter {
  std::int64_t num_runs, d_model;
  const MoeConfig& config;
  std::uint32_t site;

  template <class Config>
  std::enable_if_t<std::is_base_of_v<TopKFields, Config>, std::shared_ptr<Router>> operator()(const Config& c) const {
    return std::make_shared<TopKRouterImpl>(num_runs, d_model, config, c, Config::kScore, site);
  }
  std::shared_ptr<Router> operator()(const NoisyTopKConfig&) const {
    return std::make_shared<NoisyTopKRouterImpl>(num_runs, d_model, config, site);
  }
  std::shared_ptr<Router> operator()(const ExpertChoiceConfig&) const {
    return std::make_shared<ExpertChoiceRouterImpl>(num_runs, d_model, config);
  }
};

}  // namespace

std::shared_ptr<Router> make_router(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site) {
  return std::visit(BuildRouter{num_runs, d_model, config, site}, config.router);
}

}  // namespace ffn::modules
