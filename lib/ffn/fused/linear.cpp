#include "ffn/fused/linear.hpp"

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

std::int64_t bias_offset(const Layout& layout) { return layout.has("bias") ? layout.offset("bias") : -1; }

}  // namespace

Linear::Linear(const Layout& layout, std::int64_t d_in, std::int64_t d_out)
    : d_in_(d_in), d_out_(d_out), weight_(layout.offset("weight")), bias_(bias_offset(layout)) {}

float* Linear::forward(Pass& pass, std::int64_t rows, const float* x) const {
  float* y = pass.arena.floats(rows * d_out_);
  Map{d_in_, d_out_}.forward(rows, x, pass.parameters + weight_, bias_ < 0 ? nullptr : pass.parameters + bias_, y);
  return y;
}

void Linear::weight_gradient(Pass& pass, std::int64_t rows, const float* x, const float* dy) const {
  Map{d_in_, d_out_}.weight_gradient(rows, x, dy, pass.gradients + weight_, bias_ < 0 ? nullptr : pass.gradients + bias_);
}

float* Linear::input_gradient(Pass& pass, std::int64_t rows, const float* dy) const {
  float* dx = pass.arena.floats(rows * d_in_);
  Map{d_in_, d_out_}.input_gradient(rows, dy, pass.parameters + weight_, dx, false);
  return dx;
}

void Linear::add_input_gradient(Pass& pass, std::int64_t rows, const float* dy, float* dx) const {
  Map{d_in_, d_out_}.input_gradient(rows, dy, pass.parameters + weight_, dx, true);
}

GroupedLinear::GroupedLinear(const Layout& layout, std::int64_t experts, std::int64_t d_in, std::int64_t d_out)
    : experts_(experts), d_in_(d_in), d_out_(d_out), weight_(layout.offset("weight")), bias_(bias_offset(layout)) {}

float* GroupedLinear::forward(Pass& pass, const std::int64_t* offsets, const float* x) const {
  float* y = pass.arena.floats(offsets[experts_] * d_out_);
  for (std::int64_t e = 0; e < experts_; ++e) {
    Map{d_in_, d_out_}.forward(offsets[e + 1] - offsets[e], x + offsets[e] * d_in_, pass.parameters + weight_ + e * d_in_ * d_out_,
                               bias_ < 0 ? nullptr : pass.parameters + bias_ + e * d_out_, y + offsets[e] * d_out_);
  }
  return y;
}

// An expert without rows gets a product over nothing: zero.
void GroupedLinear::weight_gradient(Pass& pass, const std::int64_t* offsets, const float* x, const float* dy) const {
  for (std::int64_t e = 0; e < experts_; ++e) {
    Map{d_in_, d_out_}.weight_gradient(offsets[e + 1] - offsets[e], x + offsets[e] * d_in_, dy + offsets[e] * d_out_,
                                       pass.gradients + weight_ + e * d_in_ * d_out_,
                                       bias_ < 0 ? nullptr : pass.gradients + bias_ + e * d_out_);
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
    Map{d_in_, d_out_}.input_gradient(offsets[e + 1] - offsets[e], dy + offsets[e] * d_out_, pass.parameters + weight_ + e * d_in_ * d_out_,
                                      dx + offsets[e] * d_in_, accumulate);
  }
}

}  // namespace ffn::fused
