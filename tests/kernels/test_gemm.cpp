// Products of matrices on every instruction set that this processor has, against plain loops in double, and bit for bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch_plain.hpp"
#include "support/kernel_builds.hpp"
#include "support/worst.hpp"

using namespace ffn;
using test::Build;
using test::builds;
using test::random_values;

namespace {

struct Shape {
  std::int64_t m, n, k;
};

// How a matrix is stored: padding after each row, transposed or not.
struct Storage {
  bool transposed;
  std::int64_t padding;
  std::int64_t row(std::int64_t cols) const { return transposed ? 1 : cols + padding; }
  std::int64_t col(std::int64_t rows) const { return transposed ? rows + padding : 1; }
  std::size_t size(std::int64_t rows, std::int64_t cols) const {
    return static_cast<std::size_t>((transposed ? cols : rows) * ((transposed ? rows : cols) + padding));
  }
};

// Largest error against a loop in double, relative to √k; infinite if anything outside C's columns was touched.
double gemm_error(const Kernels& kernel, const Shape& s, const Storage& sa, const Storage& sb, bool bias, bool accumulate) {
  constexpr std::int64_t kMargin = 3;
  const auto a = random_values(sa.size(s.m, s.k), 1), b = random_values(sb.size(s.k, s.n), 2),
             offset = random_values(static_cast<std::size_t>(s.n), 3);
  const auto before = random_values(static_cast<std::size_t>(s.m * (s.n + kMargin)), 4);
  auto c = before;
  Gemm g{s.m, s.n, s.k, a.data(), sa.row(s.k), sa.col(s.m), b.data(), sb.row(s.n), sb.col(s.k), c.data(), s.n + kMargin};
  g.bias = bias ? offset.data() : nullptr;
  g.accumulate = accumulate;
  kernel.gemm(g);
  test::Worst worst;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n + kMargin; ++j) {
      const auto at = static_cast<std::size_t>(i * (s.n + kMargin) + j);
      if (j >= s.n) {
        if (c[at] != before[at]) return HUGE_VAL;
        continue;
      }
      double expected = accumulate ? static_cast<double>(before[at]) : bias ? static_cast<double>(offset[static_cast<std::size_t>(j)]) : 0;
      for (std::int64_t k = 0; k < s.k; ++k)
        expected += static_cast<double>(g.a[i * g.a_row + k * g.a_col]) * static_cast<double>(g.b[k * g.b_row + j * g.b_col]);
      worst.add(std::abs(static_cast<double>(c[at]) - expected) / std::sqrt(static_cast<double>(s.k + 1)));
    }
  }
  return worst.error();
}

}  // namespace

TEST_CASE("gemm equals a loop in double at every kind of edge, transposition and stride", "[math][gemm]") {
  const std::vector<std::int64_t> sizes{1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 15, 16, 17, 29, 31, 32, 33, 40, 63, 70};
  for (const auto& build : builds()) {
    INFO(build.name);
    test::Worst worst;
    int tried = 0;
    for (const auto m : sizes) {
      for (const auto n : sizes) {
        for (const std::int64_t k : {0, 1, 2, 7, 8, 33}) {
          for (int variant = 0; variant < 8; ++variant) {
            const Storage a{(variant & 1) != 0, variant % 3}, b{(variant & 2) != 0, variant % 2};
            worst.add(gemm_error(build.kernels, {m, n, k}, a, b, (variant & 4) != 0, m % 2 == 0 && (variant & 4) == 0));
            ++tried;
          }
        }
      }
    }
    for (const auto& s : {Shape{30, 70, 600}, Shape{100, 40, 1030}, Shape{3, 100, 513}}) {  // more than one block of k
      for (const bool transposed : {false, true}) worst.add(gemm_error(build.kernels, s, {transposed, 0}, {!transposed, 0}, true, false));
    }
    CHECK(tried == 20 * 20 * 6 * 8);
    CHECK(worst.error() < 4e-6);  // float32 chains of up to a thousand terms; a wrong term would be 0.1
  }
}

TEST_CASE("an element of a product does not depend on the matrix around it", "[math][gemm]") {
  // Position-wise: a token's result has the same bits wherever it stands and however many others there are. With the
  // panel of B read in place, copied (rows far apart, transposed, at the edge), and over more than one block of k.
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const auto& s : {Shape{40, 50, 24}, Shape{40, 133, 24}, Shape{31, 70, 1100}}) {
      for (const bool transposed : {false, true}) {
        const auto a = random_values(static_cast<std::size_t>(s.m * s.k), 1), b = random_values(static_cast<std::size_t>(s.k * s.n), 2);
        const std::int64_t b_row = transposed ? 1 : s.n, b_col = transposed ? s.k : 1;
        std::vector<float> whole(static_cast<std::size_t>(s.m * s.n)), row(static_cast<std::size_t>(s.n)), part(7);
        build.kernels.gemm({s.m, s.n, s.k, a.data(), s.k, 1, b.data(), b_row, b_col, whole.data(), s.n});
        std::size_t different = 0;
        for (std::int64_t i = 0; i < s.m; ++i) {
          build.kernels.gemm({1, s.n, s.k, a.data() + i * s.k, s.k, 1, b.data(), b_row, b_col, row.data(), s.n});
          build.kernels.gemm({1, 7, s.k, a.data() + i * s.k, s.k, 1, b.data() + 3 * b_col, b_row, b_col, part.data(), 7});
          different += !std::equal(row.begin(), row.end(), whole.begin() + i * s.n);
          different += !std::equal(part.begin(), part.end(), whole.begin() + i * s.n + 3);
        }
        CHECK(different == 0);
      }
    }
  }
}

namespace {

// An element by the rule: one chain over k from `start`, each step rounded once where the build has fused multiply-adds.
float chain(const Gemm& g, bool fused, std::int64_t i, std::int64_t j, float start) {
  float sum = start;
  for (std::int64_t k = 0; k < g.k; ++k) {
    const float a = g.a[i * g.a_row + k * g.a_col], b = g.b[k * g.b_row + j * g.b_col];
    const volatile float product = a * b;  // not left to this file's compiler
    sum = fused ? std::fma(a, b, sum) : sum + product;
  }
  return sum;
}

enum class Start { zero, bias, c };

// Elements that are not the chain's bits, or that were written beside C; a sample of those of large products.
int wrong_elements(const Build& build, const Shape& s, const Storage& sa, const Storage& sb, Start start, std::int64_t margin = 5) {
  const bool fused = std::string(build.name) != "baseline";
  const auto a = random_values(sa.size(s.m, s.k), 1), b = random_values(sb.size(s.k, s.n), 2),
             bias = random_values(static_cast<std::size_t>(s.n), 3);
  const std::int64_t c_row = s.n + margin;
  const auto before = random_values(static_cast<std::size_t>(s.m * c_row), 4);
  auto c = before;
  Gemm g{s.m, s.n, s.k, a.data(), sa.row(s.k), sa.col(s.m), b.data(), sb.row(s.n), sb.col(s.k), c.data(), c_row};
  g.bias = start == Start::bias ? bias.data() : nullptr;
  g.accumulate = start == Start::c;
  build.kernels.gemm(g);
  constexpr std::int64_t kAll = 4000, kEvery = 41;  // a prime: all places of all tiles
  int wrong = 0;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < c_row; ++j) {
      const auto at = static_cast<std::size_t>(i * c_row + j);
      if (j < s.n && s.m * s.n > kAll && (i * s.n + j) % kEvery != 0) continue;
      const float from = start == Start::c ? before[at] : start == Start::bias && j < s.n ? bias[static_cast<std::size_t>(j)] : 0.0f;
      const float expected = j < s.n ? chain(g, fused, i, j, from) : before[at];
      wrong += std::memcmp(&c[at], &expected, sizeof expected) != 0;
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("an element of a product is one chain over k, bit for bit, whatever blocks it is computed in", "[math][gemm]") {
  // Beyond the blocks of rows, of columns and of k, each with something left over, and on the small side of each.
  const std::vector<Shape> shapes{{64, 32, 8},     {13, 50, 65},     {403, 75, 1100}, {200, 300, 530},
                                  {30, 2101, 70},  {190, 2101, 40},  {1, 33, 1030},   {1021, 1, 129},
                                  {4100, 520, 12}, {260, 1540, 720}, {30, 70, 1024},  {270, 260, 2048},  // rows of A that share cache sets
                                  {131, 66, 1100}};                                                      // columns that fill no tile
  for (const auto& build : builds()) {
    INFO(build.name);
    int tried = 0;
    for (const auto& s : shapes) {
      for (int layout = 0; layout < 4; ++layout) {
        const Storage a{(layout & 1) != 0, layout}, b{(layout & 2) != 0, 3 - layout};
        for (const auto start : {Start::zero, Start::bias, Start::c}) {
          CAPTURE(s.m, s.n, s.k, layout, static_cast<int>(start));
          CHECK(wrong_elements(build, s, a, b, start) == 0);
          ++tried;
        }
      }
    }
    CHECK(tried == static_cast<int>(shapes.size()) * 4 * 3);
  }
}

TEST_CASE("an element of a product with few columns is the same chain, beside other columns and side by side", "[math][gemm]") {
  const std::vector<std::int64_t> all_rows{1, 7, 8, 9, 15, 16, 17, 40, 64, 129, 200};
  for (const auto& build : builds()) {
    INFO(build.name);
    int tried = 0, wrong = 0;
    for (const auto m : all_rows) {
      for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 34}) {
        for (const std::int64_t k : {1, 3, 4, 5, 8, 18, 65}) {
          for (int layout = 0; layout < 4; ++layout) {
            const Storage a{(layout & 1) != 0, layout}, b{(layout & 2) != 0, 3 - layout};
            const auto start = static_cast<Start>((m + n + k + layout) % 3);
            for (const std::int64_t margin : {0, 5}) {
              wrong += wrong_elements(build, {m, n, k}, a, b, start, margin);
              ++tried;
            }
          }
        }
      }
    }
    CHECK(wrong == 0);
    CHECK(tried == static_cast<int>(all_rows.size()) * 7 * 7 * 4 * 2);
  }
}

TEST_CASE("a product that is nothing leaves the sign of its bias", "[math][gemm]") {
  const std::vector<float> zeros(64 * 8, 0.0f), minus(8 * 64, -1.0f), bias(64, -0.0f);
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t n : {1, 2, 4, 8, 33}) {
      for (const bool transposed : {false, true}) {
        std::vector<float> c(static_cast<std::size_t>(64 * n), 1.0f);
        build.kernels.gemm({64, n, 8, zeros.data(), transposed ? 1 : 8, transposed ? 64 : 1, minus.data(), n, 1, c.data(), n, bias.data()});
        CHECK(std::count_if(c.begin(), c.end(), [](float x) { return x == 0 && std::signbit(x); }) == 64 * n);
      }
    }
  }
}
