// A recorded expression computed in double, by the standard library: for gradient checks and pictures.
#pragma once

#include <cstddef>

#include "ffn/kernels/expression.hpp"

namespace ffn {

/// y[i] = program(z[i]); y may be z.
void run_in_double(const Expression& program, std::size_t n, const double* z, double* y);

}  // namespace ffn
