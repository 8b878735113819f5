#include "ffn/fused/attention.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/config/parameters.hpp"

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
      scale_(1.0f / std::sqrt(static_cast<float>(head_width_))),
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
    for (std::int64_t h = 0; h < heads_; ++h) f(Head{b * length_ * d_model_ + h * head_width_, by_position_ ? h : b * heads_ + h});
  }
}

void Attention::weights_by_position(Pass& pass) {
  const std::int64_t t = length_;
  weights_ = pass.arena.floats(heads_ * t * t);
  const float* scores = scores_.in(pass.parameters);
  for (std::int64_t h = 0; h < heads_; ++h) {
    for (std::int64_t i = 0; i < t; ++i) std::copy_n(scores + (h * max_length_ + i) * max_length_, t, weights_ + (h * t + i) * t);
    kernels().softmax(t, t, 1.0f, causal_, weights_ + h * t * t);
  }
}

// weight = softmax(scale · s),   s = q @ k.t()       (T, d) @ (d, T)
void Attention::weights_by_content(Pass& pass) {
  q_ = query_->forward(pass, rows_, x_);
  k_ = key_->forward(pass, rows_, x_);
  weights_ = pass.arena.floats(rows_ * heads_ * length_);
  for_each_head([&](const Head& head) {
    const Matrix s = square(weights_, head);
    multiply(part(q_, head), part(k_, head).t(), s);
    kernels().softmax(length_, length_, scale_, causal_, s.data);
  });
}

const float* Attention::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  length_ = pass.sequence_length;
  x_ = x;
  v_ = value_.forward(pass, rows, x);
  if (by_position_) weights_by_position(pass);
  else weights_by_content(pass);
  pass.show(Value::attention, (by_position_ ? 1 : rows / length_) * heads_ * length_, length_, weights_);
  mixed_ = pass.arena.floats(rows * d_model_);
  for_each_head([&](const Head& head) { multiply(square(weights_, head), part(v_, head), part(mixed_, head)); });
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
  const std::int64_t t = length_, size = rows_ * d_model_;
  float *dv = pass.arena.floats(size), *dq = pass.arena.floats(size), *dk = pass.arena.floats(size);
  const Matrix ds(pass.arena.floats(t * t), t, t);
  for_each_head([&](const Head& head) {
    const ConstMatrix weight = square(weights_, head), dm = part(dmixed, head);
    // mixed = weight @ v       (T, T) @ (T, d)       so   dv = weight.t() @ dmixed,   dweight = dmixed @ v.t()
    multiply(weight.t(), dm, part(dv, head));
    multiply(dm, part(v_, head).t(), ds);
    // weight = softmax(scale · s)
    kernels().softmax_backward(t, t, scale_, weight.data, ds.data);
    // s = q @ k.t()            (T, d) @ (d, T)       so   dq = ds @ k,                dk = ds.t() @ q
    multiply(ds, part(k_, head), part(dq, head));
    multiply(ds.t(), part(q_, head), part(dk, head));
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
