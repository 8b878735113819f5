// Helpers for tests of layers: deterministic weights by formula, gradients against finite differences.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ffn/layers/parameter_row_torch.hpp"
#include "support/worst.hpp"

namespace ffn::test {

/// The i-th value of a tensor by formula: equal here and in scripts/generate/golden.
inline double formula(const std::string& name, std::int64_t i) {
  return 0.5 * std::sin(static_cast<double>(i) * 1.3 + static_cast<double>(name.size()));
}

inline torch::Tensor formula_tensor(const std::string& name, std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (const auto s : shape) n *= s;
  std::vector<double> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(formula(name, i));
  return torch::tensor(values, torch::kFloat64).view(shape);
}

/// Fills run r of a float64 row, in the layout of weight files.
inline void fill_by_formula(modules::ParameterRow& row, std::int64_t r) {
  auto tensors = row.export_run(r);
  for (auto& tensor : tensors) {
    auto* values = reinterpret_cast<double*>(tensor.bytes.data());
    for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(double); ++i) values[i] = formula(tensor.name, static_cast<std::int64_t>(i));
  }
  row.import_run(r, tensors);
}

/// Largest error of autograd's slope of f along four dense directions of `variable` (a leaf with gradient, float64) against
/// central differences, relative to max(1, |slope|): an element's gradient that is wrong shows in each of them. f returns the
/// scalar.
inline double gradient_error(const std::function<torch::Tensor()>& f, torch::Tensor variable) {
  constexpr double kStep = 1e-6;
  if (variable.grad().defined()) variable.mutable_grad().zero_();
  f().backward();
  const torch::Tensor gradient = variable.grad().clone();
  torch::NoGradGuard no_grad;
  const torch::Tensor original = variable.clone();
  const torch::Tensor place = torch::arange(variable.numel(), torch::kFloat64).view(variable.sizes());
  Worst worst;
  for (const double frequency : {0.7, 1.3, 2.1, 2.9}) {
    const torch::Tensor direction = torch::cos(place * frequency + frequency);
    variable.copy_(original + kStep * direction);
    const double above = f().item<double>();
    variable.copy_(original - kStep * direction);
    const double below = f().item<double>();
    const double expected = (above - below) / (2 * kStep), found = (gradient * direction).sum().item<double>();
    worst.add((found - expected) / std::max(1.0, std::abs(expected)));
  }
  variable.copy_(original);
  return worst.error();
}

}  // namespace ffn::test
