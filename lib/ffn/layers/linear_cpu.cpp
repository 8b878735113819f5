#include "ffn/layers/linear_cpu.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/layers/matrix.hpp"

namespace ffn::fused {

// y = x @ W + b       (rows, D_in) @ (D_in, D_out)       so   dW = x.t() @ dy,   db = Σ rows of dy,   dx = dy @ W.t()

Linear::Linear(const Declare& declare, std::int64_t d_in, std::int64_t d_out, bool bias) : d_in_(d_in), d_out_(d_out) {
  const auto parameters = linear_parameters(d_in, d_out, bias);
  weight_ = declare(parameters.weight);
  bias_ = declare(parameters.bias);
}

Linear::Linear(const Declare& declare, std::int64_t d_in, std::int64_t d_out, bool bias, Place transposed)
    : d_in_(d_in), d_out_(d_out), transposed_(true), weight_(transposed) {
  bias_ = declare(linear_parameters(d_in, d_out, bias).bias);
}

ConstMatrix Linear::weight(const Pass& pass) const {
  const float* values = weight_.in(pass.parameters);
  return transposed_ ? ConstMatrix(values, d_out_, d_in_).t() : ConstMatrix(values, d_in_, d_out_);
}

float* Linear::forward(Pass& pass, std::int64_t rows, const float* x) const {
  const ConstMatrix in(x, rows, d_in_);
  const Matrix y(pass.arena.floats(rows * d_out_), rows, d_out_);
  multiply(in, weight(pass), y, bias_.in(pass.parameters));
  return y.data;
}

void Linear::weight_gradient(Pass& pass, std::int64_t rows, const float* x, const float* dy) const {
  const ConstMatrix in(x, rows, d_in_), dout(dy, rows, d_out_);
  if (transposed_) multiply_add(dout.t(), in, Matrix(weight_.in(pass.gradients), d_out_, d_in_));
  else multiply(in.t(), dout, Matrix(weight_.in(pass.gradients), d_in_, d_out_));
  if (bias_) kernels().column_sums(rows, d_out_, dy, bias_.in(pass.gradients));
}

float* Linear::input_gradient(Pass& pass, std::int64_t rows, const float* dy) const {
  const ConstMatrix dout(dy, rows, d_out_);
  const Matrix dx(pass.arena.floats(rows * d_in_), rows, d_in_);
  multiply(dout, weight(pass).t(), dx);
  return dx.data;
}

void Linear::add_input_gradient(Pass& pass, std::int64_t rows, const float* dy, float* dx) const {
  const ConstMatrix dout(dy, rows, d_out_);
  multiply_add(dout, weight(pass).t(), Matrix(dx, rows, d_in_));
}

GroupedLinear::GroupedLinear(const Declare& declare, std::int64_t experts, std::int64_t d_in, std::int64_t d_out, bool bias)
    : experts_(experts), d_in_(d_in), d_out_(d_out) {
  const auto parameters = expert_linear_parameters(experts, d_in, d_out, bias);
  weight_ = declare(parameters.weight);
  bias_ = declare(parameters.bias);
}

template <class F>
void GroupedLinear::for_each_expert(const std::int64_t* offsets, const F& f) const {
  for (std::int64_t e = 0; e < experts_; ++e) {
    f(Expert{offsets[e], offsets[e + 1] - offsets[e], weight_.after(e * d_in_ * d_out_), bias_.after(e * d_out_)});
  }
}

float* GroupedLinear::forward(Pass& pass, const std::int64_t* offsets, const float* x) const {
  float* y = pass.arena.floats(offsets[experts_] * d_out_);
  for_each_expert(offsets, [&](const Expert& e) {
    const ConstMatrix in(x + e.first * d_in_, e.rows, d_in_), weight(e.weight.in(pass.parameters), d_in_, d_out_);
    multiply(in, weight, Matrix(y + e.first * d_out_, e.rows, d_out_), e.bias.in(pass.parameters));
  });
  return y;
}

// An expert without rows gets a product over nothing: zero.
void GroupedLinear::weight_gradient(Pass& pass, const std::int64_t* offsets, const float* x, const float* dy) const {
  for_each_expert(offsets, [&](const Expert& e) {
    const ConstMatrix in(x + e.first * d_in_, e.rows, d_in_), dout(dy + e.first * d_out_, e.rows, d_out_);
    multiply(in.t(), dout, Matrix(e.weight.in(pass.gradients), d_in_, d_out_));
    if (e.bias) kernels().column_sums(e.rows, d_out_, dout.data, e.bias.in(pass.gradients));
  });
}

float* GroupedLinear::input_gradient(Pass& pass, const std::int64_t* offsets, const float* dy) const {
  float* dx = pass.arena.floats(offsets[experts_] * d_in_);
  for_each_expert(offsets, [&](const Expert& e) {
    const ConstMatrix dout(dy + e.first * d_out_, e.rows, d_out_), weight(e.weight.in(pass.parameters), d_in_, d_out_);
    multiply(dout, weight.t(), Matrix(dx + e.first * d_in_, e.rows, d_in_));
  });
  return dx;
}

void GroupedLinear::add_input_gradient(Pass& pass, const std::int64_t* offsets, const float* dy, float* dx) const {
  for_each_expert(offsets, [&](const Expert& e) {
    const ConstMatrix dout(dy + e.first * d_out_, e.rows, d_out_), weight(e.weight.in(pass.parameters), d_in_, d_out_);
    multiply_add(dout, weight.t(), Matrix(dx + e.first * d_in_, e.rows, d_in_));
  });
}

}  // namespace ffn::fused
