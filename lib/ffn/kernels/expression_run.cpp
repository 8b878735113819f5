#define FFN_ISA in_double
#include "ffn/kernels/expression_blocks.hpp"

namespace ffn {

namespace {

struct StandardLibrary {
  static double exp(double x) { return std::exp(x); }
  static double tanh(double x) { return std::tanh(x); }
  static double erf(double x) { return std::erf(x); }
  static double expm1(double x) { return std::expm1(x); }
};

}  // namespace

void run_in_double(const Expression& program, std::size_t n, const double* const* inputs, double* y) {
  in_double::run_blocks<double, StandardLibrary>(program, n, inputs, y);
}

}  // namespace ffn
#undef FFN_ISA
