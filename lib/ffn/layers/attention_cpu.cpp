#include "ffn/layers/attention_cpu.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/config/parameters.hpp"

namespace ffn::cpu {

namespace {

std::optional<Linear> linear_if(bool wanted, const Declare& declare, std::int64_t d_model, bool bias) {
  return wanted ? std::optional(Linear(declare, d_model, d_model, bias)) : std::nullopt;
}

std::optional<Norm> norm_if(bool wanted, const Declare& declare, std::int64_t head_width) {
  return wanted ? std::optional(Norm(declare, head_width, head_norm())) : std::nullopt;
}

// A batch that is shorter than the longest writes to a part of the scores.
Place scores_if(bool wanted, const Declare& declare, std::int64_t heads, std::int64_t max_length) {
  return wanted ? declare(position_scores_parameter(heads, max_length), Gradient::added_to) : Place();
}

}  // namespace

Attention::Attention(const Declare& declare, std::int64_t d_model, std::int64_t max_sequence_length, const AttentionConfig& config,
                     bool rotary)
    : d_model_(d_model),
      heads_(config.heads),
      head_width_(d_model / config.heads),
      max_length_(max_sequence_length),
      scale_(1.0f / std::sqrt(static_cast<float>(head_width_))),
      causal_(config.causal),
      by_position_(config.scores == "position"),
      scores_(scores_if(by_position_, declare, config.heads, max_sequence_length)),
      query_(linear_if(!by_position_, declare.in("query"), d_model, config.bias)),
      key_(linear_if(!by_position_, declare.in("key"), d_model, config.bias)),
      query_norm_(norm_if(config.qk_norm, declare.in("query_norm"), head_width_)),
      key_norm_(norm_if(config.qk_norm, declare.in("key_norm"), head_width_)),
      value_(declare.in("value"), d_model, d_model, config.bias),
      output_(declare.in("output"), d_model, d_model, config.bias) {
  if (rotary) rotary_.emplace(max_sequence_length, head_width_, config.rotary_base, config.rotary_layout == "pairs");
}

template <class F>
void Attention::for_each_head(const F& f) const {
  for (std::int64_t b = 0; b < rows_ / length_; ++b) {
    for (std::int64_t h = 0; h < heads_; ++h) f(Head{b * length_ * d_model_ + h * head_width_, by_position_ ? h : b * heads_ + h});
  }
}

void Attention::weights_by_position(Pass& pass) {
  const std::int64_t t = length_;
  weights_ = pass.arena.floats(heads_ * t * t);
  const float* scores = scores_.in(pass.parameters);
  for (std::int64_t h = 0; h < heads_; ++h) {
    for (std::int64_t i = 0; i < t; ++i) std::copy_n(scores + (h * max_length_ + i) * max_length_, t, weights_ + (h * t + i) * t);
    kernels().softmax(t, t, 1.0f, causal_ ? 1 : 0, weights_ + h * t * t);
  }
}

template <class F>
void Attention::for_each_strip(const F& f) const {
  for (std::int64_t first = 0; first < length_; first += height_) {
    const std::int64_t count = std::min(height_, length_ - first);
    f(Strip{first, count, causal_ ? first + count : length_});
  }
}

// weight = softmax(scale · s),   s = q @ k.t()       (T, d) @ (d, T)
void Attention::weigh(const Head& head, const Strip& strip, const Matrix& weight) {
  multiply(part(q_, head).some(strip.first, strip.count), part(k_, head).some(0, strip.seen).t(), weight);
  kernels().softmax(strip.count, strip.seen, scale_, causal_ ? strip.first + 1 : 0, weight.data);
}

// Strip by strip, so that what no row sees costs nothing. A short sequence's weights are kept for the backward pass. A long one's are
// worked out in both passes: they stay in the cache. Where every row sees everything, doing it twice pays later.
void Attention::mix(Pass& pass) {
  const bool whole = pass.watcher || (!causal_ && length_ <= 4 * kStrip);
  const bool kept = whole || length_ <= kStrip;
  height_ = whole ? length_ : kept ? kKeptStrip : kStrip;
  weights_ = kept ? pass.arena.floats(rows_ * heads_ * length_) : nullptr;
  float* memory = kept ? nullptr : pass.arena.floats(kStrip * length_);
  for_each_head([&](const Head& head) {
    for_each_strip([&](const Strip& strip) {
      const Matrix weight(kept ? kept_weights(head, strip) : memory, strip.count, strip.seen);
      weigh(head, strip, weight);
      multiply(weight, part(v_, head).some(0, strip.seen), part(mixed_, head).some(strip.first, strip.count));
    });
  });
}

const float* Attention::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  length_ = pass.sequence_length;
  x_ = x;
  v_ = value_.forward(pass, rows, x);
  mixed_ = pass.arena.floats(rows * d_model_);
  if (by_position_) {
    weights_by_position(pass);
    for_each_head([&](const Head& head) { multiply(square(weights_, head), part(v_, head), part(mixed_, head)); });
  } else {
    q_ = query_->forward(pass, rows, x);
    k_ = key_->forward(pass, rows, x);
    if (query_norm_) {
      q_ = query_norm_->forward(pass, rows * heads_, q_);
      k_ = key_norm_->forward(pass, rows * heads_, k_);
    }
    if (rotary_) {
      for (float* y : {q_, k_}) rotary_->turn(rows, length_, heads_, y);
    }
    mix(pass);
  }
  pass.show(Value::attention, (by_position_ ? 1 : rows / length_) * heads_ * length_, length_, weights_);
  return output_.forward(pass, rows, mixed_);
}

const float* Attention::backward(Pass& pass, const float* dy) {
  output_.weight_gradient(pass, rows_, mixed_, dy);
  float* dmixed = output_.input_gradient(pass, rows_, dy);
  return by_position_ ? backward_by_position(pass, dmixed) : backward_by_content(pass, dmixed);
}

const float* Attention::backward_by_position(Pass& pass, float* dmixed) {
  const std::int64_t t = length_;
  float* dv = pass.arena.floats(rows_ * d_model_);
  float* dweights = pass.arena.floats(heads_ * t * t);
  std::fill_n(dweights, heads_ * t * t, 0.0f);
  for_each_head([&](const Head& head) {
    const ConstMatrix weight = square(weights_, head), v = part(v_, head), dm = part(dmixed, head);
    // mixed = weight @ v       (T, T) @ (T, d)       so   dv = weight.t() @ dmixed,   dweight += dmixed @ v.t(), over sequences
    multiply(weight.t(), dm, part(dv, head));
    multiply_add(dm, v.t(), square(dweights, head));
  });
  float* dscores = scores_.in(pass.gradients);
  for (std::int64_t h = 0; h < heads_; ++h) {
    kernels().softmax_backward(t, t, 1.0f, weights_ + h * t * t, dweights + h * t * t);
    for (std::int64_t i = 0; i < t; ++i) std::copy_n(dweights + (h * t + i) * t, t, dscores + (h * max_length_ + i) * max_length_);
  }
  value_.weight_gradient(pass, rows_, x_, dv);
  return value_.input_gradient(pass, rows_, dv);
}

const float* Attention::backward_by_content(Pass& pass, float* dmixed) {
  const std::int64_t size = rows_ * d_model_, most = height_ * length_;
  float *dv = pass.arena.floats(size), *dq = pass.arena.floats(size), *dk = pass.arena.floats(size);
  float *memory = pass.arena.floats(most), *weight_memory = weights_ ? nullptr : pass.arena.floats(most);
  std::fill_n(dv, size, 0.0f), std::fill_n(dk, size, 0.0f);
  for_each_head([&](const Head& head) {
    for_each_strip([&](const Strip& strip) {
      const Matrix weight(weights_ ? kept_weights(head, strip) : weight_memory, strip.count, strip.seen);
      if (!weights_) weigh(head, strip, weight);
      const ConstMatrix dm = part(dmixed, head).some(strip.first, strip.count), q = part(q_, head).some(strip.first, strip.count);
      // Strips add to one gradient.
      const ConstMatrix v = part(v_, head).some(0, strip.seen), k = part(k_, head).some(0, strip.seen);
      const Matrix dv_seen = part(dv, head).some(0, strip.seen), dk_seen = part(dk, head).some(0, strip.seen);
      const Matrix ds(memory, strip.count, strip.seen);
      // mixed = weight @ v       (T, T) @ (T, d)       so   dv = weight.t() @ dmixed,   dweight = dmixed @ v.t()
      multiply_add(weight.t(), dm, dv_seen);
      multiply(dm, v.t(), ds);
      // weight = softmax(scale · s)
      kernels().softmax_backward(ds.rows, ds.cols, scale_, weight.data, ds.data);
      // s = q @ k.t()            (T, d) @ (d, T)       so   dq = ds @ k,                dk = ds.t() @ q
      multiply(ds, k, part(dq, head).some(strip.first, strip.count));
      multiply_add(ds.t(), q, dk_seen);
    });
  });
  if (rotary_) {
    for (float* d : {dq, dk}) rotary_->turn(rows_, length_, heads_, d, /*back=*/true);
  }
  if (query_norm_) {
    dq = query_norm_->backward(pass, dq);
    dk = key_norm_->backward(pass, dk);
  }
  value_.weight_gradient(pass, rows_, x_, dv);
  query_->weight_gradient(pass, rows_, x_, dq);
  key_->weight_gradient(pass, rows_, x_, dk);
  float* dx = value_.input_gradient(pass, rows_, dv);
  query_->add_input_gradient(pass, rows_, dq, dx);
  key_->add_input_gradient(pass, rows_, dk, dx);
  return dx;
}

}  // namespace ffn::cpu
