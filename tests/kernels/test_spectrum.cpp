// Singular values and effective rank against matrices whose values are known.
#include <algorithm>
#include <cmath>

#include "ffn/kernels/spectrum.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("eigenvalues of small symmetric matrices") {
  const auto two = symmetric_eigenvalues({2, 1, 1, 2}, 2);
  CHECK(two.at(0) == Approx(1));
  CHECK(two.at(1) == Approx(3));
  CHECK(symmetric_eigenvalues({7}, 1) == std::vector<double>{7});
  CHECK(symmetric_eigenvalues({}, 0).empty());
  const auto diagonal = symmetric_eigenvalues({5, 0, 0, 0, -1, 0, 0, 0, 2}, 3);
  CHECK(diagonal == std::vector<double>{-1, 2, 5});
}

TEST_CASE("eigenvalues of the second difference are 2 - 2 cos(kπ/(n+1))") {
  constexpr std::size_t n = 60;
  std::vector<double> matrix(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i * n + i] = 2;
    if (i + 1 < n) matrix[i * n + i + 1] = matrix[(i + 1) * n + i] = -1;
  }
  const auto values = symmetric_eigenvalues(matrix, n);
  for (std::size_t k = 1; k <= n; ++k)
    CHECK(values[k - 1] == Approx(2 - 2 * std::cos(static_cast<double>(k) * std::acos(-1.0) / (n + 1))).epsilon(1e-9));
}

TEST_CASE("eigenvalues of a full matrix have its trace, its squares and those of a known outer product") {
  // min(i, j) + 1, the inverse of a second difference: 1/(2 - 2 cos((2k - 1)π/(2n + 1)))
  constexpr std::size_t n = 40;
  std::vector<double> matrix(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) matrix[i * n + j] = static_cast<double>(std::min(i, j) + 1);
  }
  const auto values = symmetric_eigenvalues(matrix, n);
  for (std::size_t k = 1; k <= n; ++k)
    CHECK(values[n - k] == Approx(1 / (2 - 2 * std::cos(static_cast<double>(2 * k - 1) * std::acos(-1.0) / (2 * n + 1)))).epsilon(1e-9));
}

TEST_CASE("rows that a rank is measured on are different ones, the same each time, of every position of a sequence") {
  CHECK(drawn_rows(3, 5) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(drawn_rows(0, 5).empty());
  const auto rows = drawn_rows(4096, 256);
  CHECK(rows == drawn_rows(4096, 256));
  CHECK(rows.size() == 256);
  CHECK(std::is_sorted(rows.begin(), rows.end()));
  CHECK(std::adjacent_find(rows.begin(), rows.end()) == rows.end());
  for (const std::int64_t length : {7, 8, 16, 64}) {
    std::vector<int> seen(static_cast<std::size_t>(length), 0);
    for (const auto row : rows) ++seen[static_cast<std::size_t>(row % length)];
    CHECK(*std::max_element(seen.begin(), seen.end()) < 256 / length * 4);
    CHECK(std::count(seen.begin(), seen.end(), 0) < 6);
  }
}

TEST_CASE("the effective rank counts equal directions, and weighs unequal ones") {
  CHECK(effective_rank({1, 1, 1}) == Approx(3));
  CHECK(effective_rank({5, 0, 0}) == Approx(1));
  CHECK(effective_rank({3, 1}) == Approx(std::exp(0.75 * std::log(4 / 3.0) + 0.25 * std::log(4.0))));
  CHECK(effective_rank({0, 0}) == 0);
  CHECK(effective_rank({}) == 0);
}

TEST_CASE("a matrix of one direction has effective rank 1 from either side") {
  std::vector<float> x(50 * 7);
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 7; ++j) x[i * 7 + j] = static_cast<float>((i + 1) * (j + 1));
  }
  CHECK(effective_rank(singular_values(x.data(), 50, 7)) == Approx(1).epsilon(1e-6));
  CHECK(effective_rank(singular_values(x.data(), 7, 50)) >= 1);
  const float tall[] = {3, 0, 0, 4, 0, 0};  // singular values 3 and 4
  const auto values = singular_values(tall, 3, 2);
  REQUIRE(values.size() == 2);
  CHECK(values[0] == Approx(3));
  CHECK(values[1] == Approx(4));
  const auto wide = singular_values(tall, 2, 3);  // (3 0 0; 4 0 0): 5 and 0
  CHECK(wide[1] == Approx(5));
  CHECK(wide[0] == Approx(0).margin(1e-6));
}
