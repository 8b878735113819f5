// A recorded expression computed in double, by the standard library: for tasks, gradient checks and pictures.
#pragma once

#include <cstddef>

#include "ffn/kernels/expression.hpp"

namespace ffn {

/// y[i] = program(inputs[0][i], inputs[1][i], …); y may be an input.
void run_in_double(const Expression& program, std::size_t n, const double* const* inputs, double* y);

}  // namespace ffn
