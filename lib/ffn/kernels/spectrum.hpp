// How many directions a set of vectors spans, softly. Standard library only.
#pragma once

#include <cstdint>
#include <vector>

namespace ffn {

/// Eigenvalues of a symmetric matrix (n, n), ascending: Householder's tridiagonal form and implicit QL steps (Golub and Van Loan,
/// "Matrix Computations", §8.3).
std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n);

/// Singular values of x: (rows, cols), in no order, of the smaller side's Gram matrix in double: those below 1e-8 of the largest are noise.
std::vector<double> singular_values(const float* x, std::int64_t rows, std::int64_t cols);

/// `count` of the numbers 0 … rows - 1 by chance, the same ones each time, ascending: what a rank is measured on where all of it would
/// take too long. Every n-th of them would be one and the same position of sequences whose length divides n.
std::vector<std::int64_t> drawn_rows(std::int64_t rows, std::int64_t count);

/// exp(-Σ p ln p), p = σ/Σσ: Roy and Vetterli 2007, "The effective rank". 0 for no values but zeros.
double effective_rank(const std::vector<double>& singular_values);

}  // namespace ffn
