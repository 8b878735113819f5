// Functions of activation_rows.cpp and expression_rows.cpp, once per instruction set.
#pragma once

#include "ffn/kernels/activations.hpp"

namespace ffn {
namespace baseline {
std::size_t activation_rows(const Activation** rows);
void run(const Expression& program, std::size_t n, const float* const* inputs, float* y);
}  // namespace baseline
namespace x86_64_v3 {
std::size_t activation_rows(const Activation** rows);
void run(const Expression& program, std::size_t n, const float* const* inputs, float* y);
}  // namespace x86_64_v3
namespace x86_64_v4 {
std::size_t activation_rows(const Activation** rows);
void run(const Expression& program, std::size_t n, const float* const* inputs, float* y);
}  // namespace x86_64_v4
}  // namespace ffn
