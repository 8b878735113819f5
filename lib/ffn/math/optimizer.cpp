#include "ffn/math/optimizer.hpp"

#include <cmath>

namespace ffn {

double sum_of_squares(std::size_t n, const float* x) {
  constexpr std::size_t kLanes = 16;
  double lane[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lane[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
  }
  double sum = 0;
  for (const double part : lane) sum += part;
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void adam_step(std::size_t n, const AdamStep& s, const float* grad, float* param, float* mean, float* square) {
  const auto t = static_cast<double>(s.step_count);
  const auto step_size = static_cast<float>(s.lr / (1 - std::pow(s.beta1, t)));
  const auto root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(s.beta2, t)));
  const auto keep = static_cast<float>(s.decoupled ? 1 - s.lr * s.weight_decay : 1.0);
  const auto l2 = static_cast<float>(s.decoupled ? 0.0 : s.weight_decay);
  const auto b1 = static_cast<float>(s.beta1), b2 = static_cast<float>(s.beta2), c1 = static_cast<float>(1 - s.beta1),
             c2 = static_cast<float>(1 - s.beta2);
  const auto eps = static_cast<float>(s.epsilon), scale = static_cast<float>(s.grad_scale);
  for (std::size_t i = 0; i < n; ++i) {
    const float p = param[i] * keep;
    const float g = grad[i] * scale + l2 * param[i];
    const float m = b1 * mean[i] + c1 * g;
    const float v = b2 * square[i] + c2 * (g * g);
    mean[i] = m;
    square[i] = v;
    param[i] = p - step_size * m / (std::sqrt(v) * root_scale + eps);
  }
}

void sgd_step(std::size_t n, const SgdStep& s, const float* grad, float* param, float* velocity) {
  const auto lr = static_cast<float>(s.lr), momentum = static_cast<float>(s.momentum), l2 = static_cast<float>(s.weight_decay);
  const auto scale = static_cast<float>(s.grad_scale);
  for (std::size_t i = 0; i < n; ++i) {
    const float g = grad[i] * scale + l2 * param[i];
    const float v = momentum * velocity[i] + g;  // velocity starts at 0, so the first one is g
    velocity[i] = v;
    param[i] -= lr * (s.nesterov ? g + momentum * v : v);
  }
}

}  // namespace ffn
