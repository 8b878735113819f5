#include "ffn/kernels/activations.hpp"

#include <stdexcept>

#include "ffn/kernels/isa.hpp"

namespace ffn {

const std::vector<Activation>& activations() {
  static const std::vector<Activation> catalogue = [] {
    const Activation* rows = nullptr;
    const std::size_t count = chosen_build().activation_rows(&rows);
    return std::vector<Activation>(rows, rows + count);
  }();
  return catalogue;
}

const Activation& activation(const std::string& name) {
  for (const auto& row : activations()) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no activation named " + name);
}

void Activation::values(std::size_t n, const float* z, float* y) const {
  program ? chosen_build().run(*program, n, &z, y) : forward(n, z, y);
}

void Activation::values(std::size_t n, const double* z, double* y) const {
  program ? run_in_double(*program, n, &z, y) : forward64(n, z, y);
}

void Activation::gradients(std::size_t n, const float* z, const float* dy, float* dz) const {
  if (!program) return backward(n, z, dy, dz);
  std::vector<float> slope(n);
  chosen_build().run(*slope_program, n, &z, slope.data());
  for (std::size_t i = 0; i < n; ++i) dz[i] = dy[i] * slope[i];
}

void Activation::gradients(std::size_t n, const double* z, const double* dy, double* dz) const {
  if (!program) return backward64(n, z, dy, dz);
  std::vector<double> slope(n);
  run_in_double(*slope_program, n, &z, slope.data());
  for (std::size_t i = 0; i < n; ++i) dz[i] = dy[i] * slope[i];
}

void Activation::values_and_slopes(std::size_t n, const float* z, float* y, float* slope) const {
  if (!program) return both(n, z, y, slope);
  chosen_build().run(*program, n, &z, y);
  chosen_build().run(*slope_program, n, &z, slope);
}

Expression Activation::recorded_value() const { return program ? *program : record(value); }
Expression Activation::recorded_slope() const { return program ? *slope_program : record(derivative); }

}  // namespace ffn
