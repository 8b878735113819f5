// Activations and functions of the user's formulas in float, compiled once per instruction set.
#include "ffn/kernels/activation_rows.hpp"
#include "ffn/kernels/expression_blocks.hpp"
#include "ffn/kernels/scalar.hpp"

namespace ffn::FFN_ISA {

namespace {

struct Polynomials {
  static float exp(float x) { return exp_(x); }
  static float tanh(float x) { return tanh_(x); }
  static float erf(float x) { return erf_(x); }
  static float expm1(float x) { return expm1_(x); }
};

}  // namespace

void run(const Expression& program, std::size_t n, const float* const* inputs, float* y) {
  run_blocks<float, Polynomials>(program, n, inputs, y);
}

}  // namespace ffn::FFN_ISA
