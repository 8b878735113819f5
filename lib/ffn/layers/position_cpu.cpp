#include "ffn/layers/position_cpu.hpp"

#include <cmath>

namespace ffn::fused {

namespace {

double angle(std::int64_t position, std::int64_t pair, std::int64_t width, double base) {
  return static_cast<double>(position) * std::pow(base, -2.0 * static_cast<double>(pair) / static_cast<double>(width));
}

}  // namespace

std::vector<float> sinusoids(std::int64_t length, std::int64_t d_model) {
  std::vector<float> table;
  table.reserve(static_cast<std::size_t>(length * d_model));
  for (std::int64_t t = 0; t < length; ++t) {
    for (std::int64_t j = 0; j < d_model; ++j) {
      const double x = angle(t, j / 2, d_model, 10000);
      table.push_back(static_cast<float>(j % 2 == 0 ? std::sin(x) : std::cos(x)));
    }
  }
  return table;
}

}  // namespace ffn::fused
