#include "ffn/layers/linear_cpu.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/layers/matrix.hpp"

namespace ffn::cpu {

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

}  // namespace ffn::cpu
