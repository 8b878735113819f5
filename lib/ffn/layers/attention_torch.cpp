#include "ffn/layers/attention_torch.hpp"

#include <cmath>
#include <limits>

#include "ffn/config/parameters.hpp"
#include "ffn/layers/position_torch.hpp"

namespace ffn::modules {

AttentionImpl::AttentionImpl(std::int64_t num_runs, std::int64_t d_model, std::int64_t sequence_length, const AttentionConfig& config,
                             bool rotary)
    : RunModule(num_runs),
      heads_(config.heads),
      head_width_(d_model / config.heads),
      causal_(config.causal),
      rotary_(rotary),
      in_pairs_(config.rotary_layout == "pairs"),
      rotary_base_(config.rotary_base) {
  TORCH_CHECK(d_model % config.heads == 0, "d_model (", d_model, ") is not divisible by heads (", config.heads, ")");
  if (config.scores == "position") {
    scores_ = parameter(position_scores_parameter(heads_, sequence_length));
  } else {
    query_ = register_module("query", Linear(num_runs, d_model, d_model, config.bias));
    key_ = register_module("key", Linear(num_runs, d_model, d_model, config.bias));
    if (config.qk_norm) {
      query_norm_ = register_module("query_norm", Norm(num_runs, head_width_, head_norm()));
      key_norm_ = register_module("key_norm", Norm(num_runs, head_width_, head_norm()));
    }
  }
  value_ = register_module("value", Linear(num_runs, d_model, d_model, config.bias));
  output_ = register_module("output", Linear(num_runs, d_model, d_model, config.bias));
}

Tensor AttentionImpl::forward(const Tensor& x, std::int64_t t) {
  TORCH_CHECK(x.size(1) % t == 0, x.size(1), " tokens are no whole number of sequences of length ", t);
  return output_(scores_.defined() ? by_position(x, t) : by_content(x, t));
}

Tensor AttentionImpl::masked_softmax(const Tensor& given) const {
  const Tensor scores = widened(given);
  if (!causal_) return scores.softmax(-1);
  const auto t = scores.size(-1);
  const Tensor mask = torch::ones({t, t}, scores.options().dtype(torch::kBool)).triu(1);  // true where a position must not look
  return scores.masked_fill(mask, -std::numeric_limits<double>::infinity()).softmax(-1);
}

Tensor AttentionImpl::by_content(const Tensor& x, std::int64_t t) {
  const auto runs = x.size(0), batch = x.size(1) / t;
  const auto split = [&](const Tensor& y) {  // (R, B·T, D) → (R·B·H, T, D/H)
    return y.reshape({runs, batch, t, heads_, head_width_}).transpose(2, 3).reshape({runs * batch * heads_, t, head_width_});
  };
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_width_));
  const auto normed = [&](Norm& norm, const Tensor& y) { return norm.is_empty() ? y : norm(y.reshape({runs, -1, head_width_})); };
  Tensor q = split(normed(query_norm_, query_(x))), k = split(normed(key_norm_, key_(x)));
  if (rotary_) {
    const Rotary turn(t, head_width_, rotary_base_, in_pairs_, x);
    q = turn(q);
    k = turn(k);
  }
  const auto mix = [&](const Tensor& v) {  // (R·B·H, T, D/H)
    const auto by_sequence = [&](const Tensor& y) { return y.view({runs * batch, heads_, t, head_width_}); };
    if (kHasFusedAttention && OwnKernels::wanted()) return fused_attention(by_sequence(q), by_sequence(k), by_sequence(v), causal_);
    const Tensor scores = torch::bmm(q * scale, k.transpose(1, 2));  // (R·B·H, T, T)
    return torch::bmm(masked_softmax(scores), v);
  };
  const Tensor mixed = mix(split(value_(x)));
  return mixed.reshape({runs, batch, heads_, t, head_width_}).transpose(2, 3).reshape({runs, batch * t, heads_ * head_width_});
}

Tensor AttentionImpl::by_position(const Tensor& x, std::int64_t t) {
  const auto runs = x.size(0), batch = x.size(1) / t;
  const Tensor scores = scores_.narrow(2, 0, t).narrow(3, 0, t);
  const Tensor weights = masked_softmax(scores).reshape({runs * heads_, t, t});  // the same for every sequence
  const Tensor values =
      value_(x).reshape({runs, batch, t, heads_, head_width_}).permute({0, 3, 2, 1, 4}).reshape({runs * heads_, t, batch * head_width_});
  const Tensor mixed = torch::bmm(weights, values);  // (R·H, T, B·D/H)
  return mixed.reshape({runs, heads_, t, batch, head_width_}).permute({0, 3, 2, 1, 4}).reshape({runs, batch * t, heads_ * head_width_});
}

}  // namespace ffn::modules
