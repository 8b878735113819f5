#include "ffn/kernels/spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ffn/base/random.hpp"

namespace ffn {

namespace {

// a becomes T = Qᵀ a Q: its diagonal, and beside[i] between i and i + 1.
void tridiagonal(std::vector<double>& a, std::size_t n, std::vector<double>& diagonal, std::vector<double>& beside) {
  std::vector<double> u(n), p(n);
  for (std::size_t k = 0; k + 2 < n; ++k) {
    // u reflects what stands below (k + 1, k) in column k to zero.
    double norm = 0;
    for (std::size_t i = k + 1; i < n; ++i) {
      u[i] = a[i * n + k];
      norm += u[i] * u[i];
    }
    norm = std::sqrt(norm);
    beside[k] = u[k + 1] > 0 ? -norm : norm;
    u[k + 1] -= beside[k];
    const double half = norm * (norm + std::abs(u[k + 1] + beside[k]));  // |u|²/2
    if (half == 0) continue;
    double along = 0;
    for (std::size_t i = k + 1; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = k + 1; j < n; ++j) sum += a[i * n + j] * u[j];
      p[i] = sum / half;
      along += u[i] * p[i];
    }
    for (std::size_t i = k + 1; i < n; ++i) p[i] -= along / (2 * half) * u[i];
    for (std::size_t i = k + 1; i < n; ++i) {
      for (std::size_t j = k + 1; j < n; ++j) a[i * n + j] -= u[i] * p[j] + p[i] * u[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) diagonal[i] = a[i * n + i];
  if (n > 1) beside[n - 2] = a[(n - 1) * n + n - 2];
}

// One implicit QL step with Wilkinson's shift on rows low … high.
void ql_step(std::vector<double>& d, std::vector<double>& e, std::size_t low, std::size_t high) {
  double g = (d[low + 1] - d[low]) / (2 * e[low]);
  g = d[high] - d[low] + e[low] / (g + std::copysign(std::hypot(g, 1.0), g));
  double s = 1, c = 1, p = 0;
  for (std::size_t i = high; i-- > low;) {
    const double f = s * e[i], b = c * e[i], r = std::hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {
      d[i + 1] -= p;
      e[high] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    const double t = (d[i] - g) * s + 2 * c * b;
    p = s * t;
    d[i + 1] = g + p;
    g = c * t - b;
  }
  d[low] -= p;
  e[low] = g;
  e[high] = 0;
}

}  // namespace

std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n) {
  std::vector<double> d(n), e(n, 0.0);
  if (n == 0) return d;
  tridiagonal(matrix, n, d, e);
  for (std::size_t low = 0; low < n; ++low) {
    for (int step = 0; step < 60; ++step) {  // two or three are usual
      std::size_t high = low;
      while (high + 1 < n && std::abs(e[high]) > 1e-15 * (std::abs(d[high]) + std::abs(d[high + 1]))) ++high;
      if (high == low) break;
      ql_step(d, e, low, high);
    }
  }
  std::sort(d.begin(), d.end());
  return d;
}

std::vector<double> singular_values(const float* x, std::int64_t rows, std::int64_t cols) {
  const bool by_rows = rows < cols;
  const auto n = static_cast<std::size_t>(by_rows ? rows : cols), depth = static_cast<std::size_t>(by_rows ? cols : rows);
  std::vector<double> gram(n * n, 0.0), part(n);
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t i = 0; i < n; ++i) part[i] = static_cast<double>(by_rows ? x[i * depth + k] : x[k * n + i]);
    for (std::size_t i = 0; i < n; ++i) {
      if (part[i] == 0) continue;
      for (std::size_t j = 0; j <= i; ++j) gram[i * n + j] += part[i] * part[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) gram[j * n + i] = gram[i * n + j];
  }
  auto values = symmetric_eigenvalues(std::move(gram), n);
  const double noise = values.empty() ? 0 : values.back() * 1e-16 * static_cast<double>(n);
  for (auto& value : values) value = value > noise ? std::sqrt(value) : 0;
  return values;
}

std::vector<std::int64_t> drawn_rows(std::int64_t rows, std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  if (count >= rows) return all;
  RandomStream random(0, 0);
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(all[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(i) + random.below(static_cast<std::uint32_t>(rows - i))]);
  all.resize(static_cast<std::size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

double effective_rank(const std::vector<double>& singular_values) {
  double sum = 0, entropy = 0;
  for (const double value : singular_values) sum += value;
  if (!(sum > 0)) return 0;
  for (const double value : singular_values) {
    const double p = value / sum;
    if (p > 0) entropy -= p * std::log(p);
  }
  return std::exp(entropy);
}

}  // namespace ffn
