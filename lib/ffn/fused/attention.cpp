#include "ffn/fused/attention.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/config/parameters.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::fused {

namespace {

std::optional<Linear> linear_if(bool wanted, const Declare& declare, std::int64_t d_model, bool bias) {
  return wanted ? std::optional(Linear(declare, d_model, d_model, bias)) : std::nullopt;
}

// A batch that is shorter than the longest writes to a part of the scores.
Place scores_if(bool wanted, const Declare& declare, std::int64_t heads, std::int64_t max_length) {
  return wanted ? declare(position_scores_parameter(heads, max_length), Gradient::added_to) : Place();
}

}  // namespace

Attention::Attention(const Declare& declare, std::int64_t d_model, std::int64_t max_sequence_length, const AttentionConfig& config)
    : d_model_(d_model),
      heads_(config.heads),
      head_width_(d_model / config.heads),
      max_length_(max_sequence_length),
      causal_(config.causal),
      by_position_(config.scores == "position"),
      scores_(scores_if(by_position_, declare, config.heads, max_sequence_length)),
      query_(linear_if(!by_position_, declare.in("query"), d_model, config.bias)),
      key_(linear_if(!by_position_, declare.in("key"), d_model, config.bias)),
      value_(declare.in("value"), d_model, d_model, config.bias),
      output_(declare.in("output"), d_model, d_model, config.bias) {}

template <class F>
void Attention::for_each_head(const F& f) const {
  for (std::int64_t b = 0; b < rows_ / length_; ++b) {
    for (std::int64_t h = 0; h < heads_; ++h) f(b * length_ * d_model_ + h * head_width_, b * heads_ + h);
  }
}

void Attention::position_weights(Pass& pass) {
  const std::int64_t t = length_;
  weights_ = pass.arena.floats(heads_ * t * t);
  for (std::int64_t h = 0; h < heads_; ++h) {
    for (std::int64_t i = 0; i < t; ++i)
      std::copy_n(scores_.in(pass.parameters) + (h * max_length_ + i) * max_length_, t, weights_ + (h * t + i) * t);
    kernels().softmax(t, t, 1.0f, causal_, weights_ + h * t * t);
  }
}

const float* Attention::forward(Pass& pass, std::int64_t rows, const float* x) {
  const auto& kernel = kernels();
  rows_ = rows, length_ = pass.sequence_length, x_ = x;
  const std::int64_t t = length_, w = head_width_, d = d_model_;
  v_ = value_.forward(pass, rows, x);
  if (by_position_) {
    position_weights(pass);
  } else {
    q_ = query_->forward(pass, rows, x);
    k_ = key_->forward(pass, rows, x);
    weights_ = pass.arena.floats(rows / t * heads_ * t * t);
    const float scale = 1.0f / std::sqrt(static_cast<float>(w));
    for_each_head([&](std::int64_t at, std::int64_t head) {
      float* s = weights_ + head * t * t;
      kernel.gemm({t, t, w, q_ + at, d, 1, k_ + at, 1, d, s, t});
      kernel.softmax(t, t, scale, causal_, s);
    });
  }
  float* mixed = pass.arena.floats(rows * d);
  for_each_head([&](std::int64_t at, std::int64_t head) {
    kernel.gemm({t, w, t, weights_ + (by_position_ ? head % heads_ : head) * t * t, t, 1, v_ + at, d, 1, mixed + at, d});
  });
  mixed_ = mixed;
  return output_.forward(pass, rows, mixed);
}

const float* Attention::backward(Pass& pass, const float* dy) {
  const auto& kernel = kernels();
  const std::int64_t t = length_, w = head_width_, d = d_model_;
  output_.weight_gradient(pass, rows_, mixed_, dy);
  const float* dmixed = output_.input_gradient(pass, rows_, dy);
  float* dv = pass.arena.floats(rows_ * d);
  if (by_position_) {
    float* dweights = pass.arena.floats(heads_ * t * t);
    std::fill_n(dweights, heads_ * t * t, 0.0f);
    for_each_head([&](std::int64_t at, std::int64_t head) {
      const std::int64_t h = head % heads_;
      kernel.gemm({t, t, w, dmixed + at, d, 1, v_ + at, 1, d, dweights + h * t * t, t, nullptr, /*accumulate=*/true});
      kernel.gemm({t, w, t, weights_ + h * t * t, 1, t, dmixed + at, d, 1, dv + at, d});
    });
    for (std::int64_t h = 0; h < heads_; ++h) {
      kernel.softmax_backward(t, t, 1.0f, weights_ + h * t * t, dweights + h * t * t);
      for (std::int64_t i = 0; i < t; ++i)
        std::copy_n(dweights + (h * t + i) * t, t, scores_.in(pass.gradients) + (h * max_length_ + i) * max_length_);
    }
    value_.weight_gradient(pass, rows_, x_, dv);
    return value_.input_gradient(pass, rows_, dv);
  }
  float *dq = pass.arena.floats(rows_ * d), *dk = pass.arena.floats(rows_ * d), *ds = pass.arena.floats(t * t);
  const float scale = 1.0f / std::sqrt(static_cast<float>(w));
  for_each_head([&](std::int64_t at, std::int64_t head) {
    const float* p = weights_ + head * t * t;
    kernel.gemm({t, w, t, p, 1, t, dmixed + at, d, 1, dv + at, d});
    kernel.gemm({t, t, w, dmixed + at, d, 1, v_ + at, 1, d, ds, t});
    kernel.softmax_backward(t, t, scale, p, ds);
    kernel.gemm({t, w, t, ds, t, 1, k_ + at, d, 1, dq + at, d});
    kernel.gemm({t, w, t, ds, 1, t, q_ + at, d, 1, dk + at, d});
  });
  value_.weight_gradient(pass, rows_, x_, dv);
  query_->weight_gradient(pass, rows_, x_, dq);
  key_->weight_gradient(pass, rows_, x_, dk);
  float* dx = value_.input_gradient(pass, rows_, dv);
  query_->add_input_gradient(pass, rows_, dq, dx);
  key_->add_input_gradient(pass, rows_, dk, dx);
  return dx;
}

}  // namespace ffn::fused
