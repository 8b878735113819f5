// Matrices as a textbook has them: in double, by plain loops.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ffn/base/json.hpp"

namespace ffn::demo {

constexpr std::size_t kModel = 8, kHidden = 32;  ///< the layer that most demos show: four times as wide inside

struct Matrix {
  std::size_t rows, cols;
  std::vector<double> values;

  Matrix(std::size_t rows_, std::size_t cols_) : rows(rows_), cols(cols_), values(rows_ * cols_) {}
  double& at(std::size_t i, std::size_t j) { return values[i * cols + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * cols + j]; }
  Matrix row(std::size_t i) const;
};

/// Drawn from [-1, 1], by the name alone, rounded to tenths: numbers that can be checked by hand.
Matrix some_matrix(const std::string& name, std::size_t rows, std::size_t cols);

Matrix product(const Matrix& a, const Matrix& b);
/// Every row of `a` plus the one row of `b`.
Matrix plus_row(Matrix a, const Matrix& b);
Matrix apply(Matrix a, const std::function<double(double)>& phi);
double relu(double z);

/// x W1 + b1, φ, W2 + b2, the layer of Vaswani et al. 2017, eq. 2. x: (N, D) → (N, D).
struct Layer {
  Matrix w1, b1, w2, b2;  // (D, F), (1, F), (F, D), (1, D)

  Layer(std::size_t d_model, std::size_t d_ff);
  Matrix operator()(const Matrix& x, const std::function<double(double)>& phi) const;
  std::size_t num_parameters() const { return w1.values.size() + b1.values.size() + w2.values.size() + b2.values.size(); }
};

/// NaN where one of them has a NaN.
double largest_difference(const Matrix& a, const Matrix& b);

/// "-0.3", always with a point; never "-0.0".
std::string fixed(double x, int decimals);
/// The first `most` numbers of a row, each in as many columns, and "…" where there are more.
std::string row_text(const Matrix& m, std::size_t row, int decimals, std::size_t most = 8);
/// "W1 (3, 4)" and its rows.
std::vector<std::string> matrix_lines(const std::string& name, const Matrix& m, int decimals);
/// "2.2e-16", "0" where there is none.
std::string difference_text(double difference);
/// "the same to the last bit", or "2.2e-16 apart".
std::string apart_text(double difference);

Json to_json(const Matrix& m);

}  // namespace ffn::demo
