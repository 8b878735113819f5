// Products of matrices on every instruction set that this processor has, bit for bit.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/catch_plain.hpp"
#include "support/kernel_builds.hpp"

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

TEST_CASE("an element of a small product is the same chain, beside other columns and side by side", "[math][gemm]") {
  const std::vector<std::int64_t> all_rows{1, 7, 8, 9, 15, 16, 17, 40, 64, 129, 200};
  for (const auto& build : builds()) {
    INFO(build.name);
    int tried = 0, wrong = 0;
    for (const auto m : all_rows) {
      for (const std::int64_t n : {1, 2, 3, 4, 5, 8, 17, 34, 63}) {
        for (const std::int64_t k : {0, 1, 3, 4, 5, 8, 18, 65}) {
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
    CHECK(tried == static_cast<int>(all_rows.size()) * 9 * 8 * 4 * 2);
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
