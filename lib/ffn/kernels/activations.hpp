// The activation catalogue: one row each, torch-free so that configs can name them without loading LibTorch.
// To add one, add a row in activation_rows.cpp; parsing, docs, schema, tests and every FFN kind that has an activation (or phi) follow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ffn/kernels/expression.hpp"

namespace ffn {

/// One activation φ. The kernels work on n contiguous values; outputs may be their inputs.
///   forward:  y[i]  = φ(z[i])
///   backward: dz[i] = dy[i] · φ'(z[i])
///   both:     y[i]  = φ(z[i]), slope[i] = φ'(z[i]), for a backward pass that then is a product; slope may be z, y not
/// float kernels use polynomials without branches or fused-by-choice operations: element i gets the same bits wherever it
/// stands. Values are within 2e-7·max(1, |z|), slopes within 2e-6 (measured, up to |z| = 87). The relative error of a value
/// is as small only where its formula does not cancel: gelu and gelu_tanh lose digits below 0, from 1e-5 at -3 to all of
/// them at -5.5, where they are 1e-7. double kernels use the standard library and serve the gradient checks.
struct Activation {
  const char* name;
  const char* formula;
  const char* source;
  void (*forward)(std::size_t n, const float* z, float* y);
  void (*backward)(std::size_t n, const float* z, const float* dy, float* dz);
  void (*forward64)(std::size_t n, const double* z, double* y);
  void (*backward64)(std::size_t n, const double* z, const double* dy, double* dz);
  void (*both)(std::size_t n, const float* z, float* y, float* slope);
  Symbol (*value)(Symbol z);       ///< φ recorded; see record()
  Symbol (*derivative)(Symbol z);  ///< φ'

  /// φ and φ' of an activation that is a user's formula (formula/activation_formula.hpp), which has no functions above.
  const Expression* program = nullptr;
  const Expression* slope_program = nullptr;

  // Layers call these: the row's kernels or the program compute.
  void values(std::size_t n, const float* z, float* y) const;
  void values(std::size_t n, const double* z, double* y) const;
  void gradients(std::size_t n, const float* z, const float* dy, float* dz) const;
  void gradients(std::size_t n, const double* z, const double* dy, double* dz) const;
  void values_and_slopes(std::size_t n, const float* z, float* y, float* slope) const;
  Expression recorded_value() const;
  Expression recorded_slope() const;
};

/// All of them, in catalogue order, compiled for this processor.
const std::vector<Activation>& activations();

/// The row of a name. Throws std::out_of_range for an unknown one: configs are checked before they get here.
const Activation& activation(const std::string& name);

}  // namespace ffn
