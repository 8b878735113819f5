// Matrices in memory that someone else owns and their products, so that a pass reads like its formulas.
#pragma once

#include <cassert>

#include "ffn/kernels/kernels.hpp"

namespace ffn::cpu {

/// A matrix to read: element (i, j) stands at data[i·row + j·col].
struct ConstMatrix {
  const float* data;
  std::int64_t rows, cols, row, col;

  /// Rows side by side.
  ConstMatrix(const float* data_, std::int64_t rows_, std::int64_t cols_) : ConstMatrix(data_, rows_, cols_, cols_, 1) {}
  ConstMatrix(const float* data_, std::int64_t rows_, std::int64_t cols_, std::int64_t row_, std::int64_t col_)
      : data(data_), rows(rows_), cols(cols_), row(row_), col(col_) {}
  ConstMatrix t() const { return {data, cols, rows, col, row}; }
  /// `count` of its rows.
  ConstMatrix some(std::int64_t first, std::int64_t count) const { return {data + first * row, count, cols, row, col}; }
};

/// A matrix to write: element (i, j) stands at data[i·row + j].
struct Matrix {
  float* data;
  std::int64_t rows, cols, row;

  Matrix(float* data_, std::int64_t rows_, std::int64_t cols_) : Matrix(data_, rows_, cols_, cols_) {}
  Matrix(float* data_, std::int64_t rows_, std::int64_t cols_, std::int64_t row_) : data(data_), rows(rows_), cols(cols_), row(row_) {}
  operator ConstMatrix() const { return {data, rows, cols, row, 1}; }
  ConstMatrix t() const { return ConstMatrix(*this).t(); }
  Matrix some(std::int64_t first, std::int64_t count) const { return {data + first * row, count, cols, row}; }
};

/// c = a @ b, plus `bias` (a value per column) in every row. Nothing may overlap c.
inline void multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c, const float* bias = nullptr) {
  assert(a.cols == b.rows && c.rows == a.rows && c.cols == b.cols);
  kernels().gemm({c.rows, c.cols, a.cols, a.data, a.row, a.col, b.data, b.row, b.col, c.data, c.row, bias});
}

/// c += a @ b
inline void multiply_add(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
  assert(a.cols == b.rows && c.rows == a.rows && c.cols == b.cols);
  kernels().gemm({c.rows, c.cols, a.cols, a.data, a.row, a.col, b.data, b.row, b.col, c.data, c.row, nullptr, /*accumulate=*/true});
}

}  // namespace ffn::cpu
