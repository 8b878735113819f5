#include "ffn/train/muon.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ffn/layers/matrix.hpp"

namespace ffn {

void orthogonalise(std::int64_t rows, std::int64_t columns, float* x) {
  using cpu::Matrix, cpu::multiply;
  const bool tall = rows > columns;
  const std::int64_t count = rows * columns, side = std::min(rows, columns);
  const auto size = static_cast<std::size_t>(count), square = static_cast<std::size_t>(side * side);
  std::vector<float> memory(size + 3 * square);
  Matrix now(x, rows, columns), next(memory.data(), rows, columns);
  const Matrix a(memory.data() + size, side, side), inner(a.data + square, side, side), outer(inner.data + square, side, side);
  const auto to_diagonal = [side](const Matrix& m, double value) {
    for (std::int64_t i = 0; i < side; ++i) m.data[i * (side + 1)] += static_cast<float>(value);
  };
  const auto scaled = [](float factor, std::int64_t n, const float* from, float* to) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = factor * from[i];
  };
  scaled(static_cast<float>(1 / (std::sqrt(kernels().sum_of_squares(size, x)) + kNewtonSchulzEpsilon)), count, x, x);
  const auto [first, second, third] = kNewtonSchulz;
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    multiply(tall ? now.t() : now, tall ? now : now.t(), a);
    scaled(static_cast<float>(third), side * side, a.data, inner.data);
    to_diagonal(inner, second);
    multiply(inner, a, outer);  // bA + cA²
    to_diagonal(outer, first);
    multiply(tall ? now : outer, tall ? outer : now, next);
    std::swap(now, next);
  }
  if (now.data != x) std::copy_n(now.data, count, x);
}

void muon_step(std::int64_t d_in, std::int64_t d_out, const MuonStep& s, const float* grad, float* param, float* mean) {
  const auto momentum = static_cast<float>(s.config->momentum), rest = static_cast<float>(1 - s.config->momentum);
  const std::int64_t count = d_in * d_out;
  std::vector<float> u(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = rest * (grad[i] * s.grad_scale);
    mean[i] = momentum * mean[i] + g;
    u[static_cast<std::size_t>(i)] = s.config->nesterov ? g + momentum * mean[i] : mean[i];
  }
  orthogonalise(d_in, d_out, u.data());
  const auto rate = static_cast<float>(s.rate * s.config->step_scale(d_in, d_out));
  for (std::int64_t i = 0; i < count; ++i) param[i] = s.keep * param[i] - rate * u[static_cast<std::size_t>(i)];
}

}  // namespace ffn
