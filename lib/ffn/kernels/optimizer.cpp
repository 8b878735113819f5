#include "ffn/kernels/optimizer.hpp"

#include <cmath>

#include "ffn/kernels/kernels.hpp"

namespace ffn {

double sum_of_squares(std::size_t n, const float* x) { return kernels().sum_of_squares(n, x); }

void adam_step(std::size_t n, const AdamStep& s, const float* grad, float* param, float* mean, float* square) {
  kernels().adam_step(n, s, grad, param, mean, square);
}

double bias_correction(double beta, long long step_count) { return 1 - std::pow(beta, static_cast<double>(step_count)); }

void lion_step(std::size_t n, const LionStep& s, const float* grad, float* param, float* mean) {
  kernels().lion_step(n, s, grad, param, mean);
}

void sgd_step(std::size_t n, const SgdStep& s, const float* grad, float* param, float* velocity) {
  kernels().sgd_step(n, s, grad, param, velocity);
}

}  // namespace ffn
