#include "ffn/fused/linear.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::fused {

namespace {

// W (d_in, d_out) and b of one map, wherever they stand.
struct Map {
  std::int64_t d_in, d_out;

  void forward(std::int64_t rows, const float* x, const float* weight, const float* bias, float* y) const {
    kernels().gemm({rows, d_out, d_in, x, d_in, 1, weight, d_out, 1, y, d_out, bias});
  }
  void weight_gradient(std::int64_t rows, const float* x, const float* dy, float* dweight, float* dbias) const {
    kernels().gemm({d_in, d_out, rows, x, 1, d_in, dy, d_out, 1, dweight, d_out});
    if (dbias) kernels().column_sums(rows, d_out, dy, dbias);
  }
  void input_gradient(std::int64_t rows, const float* dy, const float* weight, float* dx, bool accumulate) const {
    kernels().gemm({rows, d_in, d_out, dy, d_out, 1, weight, 1, d_out, dx, d_in, nullptr, accumulate});
  }
};

}  // namespace

Linear::Linear(const Declare& declare, std::int64_t d_in, std::int64_t d_out, bool bias) : d_in_(d_in), d_out_(d_out) {
  const auto parameters = linear_parameters(d_in, d_out, bias);
  weight_ = declare(parameters.weight);
  bias_ = declare(parameters.bias);
}

float* Linear::forward(Pass& pass, std::int64_t rows, const float* x) const {
  float* y = pass.arena.floats(rows * d_out_);
  Map{d_in_, d_out_}.forward(rows, x, weight_.in(pass.parameters), bias_.in(pass.parameters), y);
  return y;
}

void Linear::weight_gradient(Pass& pass, std::int64_t rows, const float* x, const float* dy) const {
  Map{d_in_, d_out_}.weight_gradient(rows, x, dy, weight_.in(pass.gradients), bias_.in(pass.gradients));
}

float* Linear::input_gradient(Pass& pass, std::int64_t rows, const float* dy) const {
  float* dx = pass.arena.floats(rows * d_in_);
  Map{d_in_, d_out_}.input_gradient(rows, dy, weight_.in(pass.parameters), dx, false);
  return dx;
}

void Linear::add_input_gradient(Pass& pass, std::int64_t rows, const float* dy, float* dx) const {
  Map{d_in_, d_out_}.input_gradient(rows, dy, weight_.in(pass.parameters), dx, true);
}

GroupedLinear::GroupedLinear(const Declare& declare, std::int64_t experts, std::int64_t d_in, std::int64_t d_out, bool bias)
    : experts_(experts), d_in_(d_in), d_out_(d_out) {
  const auto parameters = expert_linear_parameters(experts, d_in, d_out, bias);
  weight_ = declare(parameters.weight);
  bias_ = declare(parameters.bias);
}

float* GroupedLinear::forward(Pass& pass, const std::int64_t* offsets, const float* x) const {
  float* y = pass.arena.floats(offsets[experts_] * d_out_);
  for (std::int64_t e = 0; e < experts_; ++e) {
    Map{d_in_, d_out_}.forward(offsets[e + 1] - offsets[e], x + offsets[e] * d_in_, weight_.in(pass.parameters) + e * d_in_ * d_out_,
                               bias_ ? bias_.in(pass.parameters) + e * d_out_ : nullptr, y + offsets[e] * d_out_);
  }
  return y;
}

// An expert without rows gets a product over nothing: zero.
void GroupedLinear::weight_gradient(Pass& pass, const std::int64_t* offsets, const float* x, const float* dy) const {
  for (std::int64_t e = 0; e < experts_; ++e) {
    Map{d_in_, d_out_}.weight_gradient(offsets[e + 1] - offsets[e], x + offsets[e] * d_in_, dy + offsets[e] * d_out_,
                                       weight_.in(pass.gradients) + e * d_in_ * d_out_,
                                       bias_ ? bias_.in(pass.gradients) + e * d_out_ : nullptr);
  }
}

float* GroupedLinear::input_gradient(Pass& pass, const std::int64_t* offsets, const float* dy) const {
  float* dx = pass.arena.floats(offsets[experts_] * d_in_);
  input_gradient(pass, offsets, dy, dx, false);
  return dx;
}

void GroupedLinear::add_input_gradient(Pass& pass, const std::int64_t* offsets, const float* dy, float* dx) const {
  input_gradient(pass, offsets, dy, dx, true);
}

void GroupedLinear::input_gradient(Pass& pass, const std::int64_t* offsets, const float* dy, float* dx, bool accumulate) const {
  for (std::int64_t e = 0; e < experts_; ++e) {
    Map{d_in_, d_out_}.input_gradient(offsets[e + 1] - offsets[e], dy + offsets[e] * d_out_,
                                      weight_.in(pass.parameters) + e * d_in_ * d_out_, dx + offsets[e] * d_in_, accumulate);
  }
}

}  // namespace ffn::fused
