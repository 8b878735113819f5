#include "ffn/layers/memory_torch.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/layers/activation_torch.hpp"

namespace ffn::modules {

namespace {

// Places of the K largest of the last dimension, the first of equals first; topk promises no order among them.
Tensor places_of_largest(const Tensor& values, std::int64_t k) {
  return std::get<1>(values.detach().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true)).narrow(-1, 0, k);
}

// The sums of every score of one half with every one of the other: (R, H, 2, N, K) → (R, H, N, K²).
Tensor sums_of_halves(const Tensor& score) { return (score.select(2, 0).unsqueeze(-1) + score.select(2, 1).unsqueeze(-2)).flatten(-2); }

// Counts from row 0 of run 0 on: (R, M) → (R·M)
Tensor over_all_runs(const Tensor& slot, std::int64_t slots) {
  return (slot + slots * torch::arange(slot.size(0), slot.options()).unsqueeze(1)).flatten();
}

}  // namespace

MemoryImpl::MemoryImpl(std::int64_t num_runs, std::int64_t d_model, const MemoryFields& config) : FeedForward(num_runs), config_(config) {
  query_ = register_module("query", Linear(num_runs, d_model, config.heads * config.key_width, config.bias));
  if (config.query_norm) norm_ = register_module("query_norm", Norm(num_runs, config.key_width, query_norm()));
  keys_ = parameter(half_keys_parameter(config));
}

MemoryImpl::Found MemoryImpl::find(const Tensor& x, const ForwardContext& context) {
  const auto runs = x.size(0), tokens = x.size(1), heads = config_.heads, n = config_.keys, half = config_.key_width / 2, k = config_.top_k;
  const ProductPrecision full(false, x.device());
  Tensor query = query_(x).view({runs, tokens * heads, config_.key_width});
  if (!norm_.is_empty()) query = norm_(query);
  query = query.view({runs, tokens, heads, 2, half}).permute({0, 2, 3, 1, 4}).reshape({runs * heads * 2, tokens, half});
  const Tensor scores = torch::bmm(query, keys_.reshape({runs * heads * 2, n, half}).transpose(1, 2)).view({runs, heads, 2, tokens, n});
  const Tensor best = places_of_largest(scores, k), score = scores.gather(-1, best);  // (R, H, 2, N, K)
  const Tensor sums = sums_of_halves(score);
  const Tensor pair = places_of_largest(sums, k);  // (R, H, N, K)
  const Tensor first = best.select(2, 0).gather(-1, pair.div(k, "floor")), second = best.select(2, 1).gather(-1, pair.remainder(k));
  if (context.margins && k < n * n) {
    const Tensor more = std::get<0>(sums_of_halves(std::get<0>(scores.topk(std::min(k + 1, n)))).topk(k + 1));
    context.margins->push_back((more.select(-1, k - 1) - more.select(-1, k)).detach());
  }
  const auto by_token = [&](const Tensor& of_heads) { return of_heads.transpose(1, 2).reshape({runs, tokens, heads * k}); };
  return {by_token(first * n + second), by_token(sums.gather(-1, pair).softmax(-1))};
}

Tensor MemoryImpl::rows(const Tensor& table, const Tensor& slot) {
  const auto slots = table.size(1), d = table.size(2);
  return table.reshape({-1, d}).index_select(0, over_all_runs(slot.flatten(1), slots)).view({slot.size(0), slot.size(1), slot.size(2), d});
}

std::vector<Tensor> MemoryImpl::usage(const Found& found) const {
  const Tensor weight = found.weight.detach().flatten();
  const Tensor all = torch::zeros({num_runs() * config_.slots()}, weight.options())
                         .index_add(0, over_all_runs(found.slot.flatten(1), config_.slots()), weight)
                         .view({num_runs(), config_.slots()});
  const Tensor share = all / all.sum(-1, /*keepdim=*/true);
  return {share.gt(0).to(share.scalar_type()).mean(-1), (-share * share.clamp_min(1e-30).log()).sum(-1)};
}

PkmImpl::PkmImpl(std::int64_t num_runs, std::int64_t d_model, const PkmConfig& config) : MemoryImpl(num_runs, d_model, config) {
  values_ = parameter(slots_parameter("values", config, d_model, Role::down));
}

FfnOutput PkmImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Found found = find(x, context);
  return {(found.weight.unsqueeze(-1) * rows(values_, found.slot)).sum(2), usage(found), {}};
}

PeerImpl::PeerImpl(std::int64_t num_runs, std::int64_t d_model, const PeerConfig& config)
    : MemoryImpl(num_runs, d_model, config), phi_(activation_called(config.activation)) {
  inputs_ = parameter(slots_parameter("up", config, d_model, Role::up));
  values_ = parameter(slots_parameter("values", config, d_model, Role::down));
}

FfnOutput PeerImpl::forward(const Tensor& x, const ForwardContext& context) {
  const Found found = find(x, context);
  const Tensor hidden = activate(phi_, (rows(inputs_, found.slot) * x.unsqueeze(2)).sum(-1), context);  // (R, N, H·K)
  return {((found.weight * hidden).unsqueeze(-1) * rows(values_, found.slot)).sum(2), usage(found), {}};
}

}  // namespace ffn::modules
