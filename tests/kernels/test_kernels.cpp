// The kernels of every instruction set that this processor has, against plain loops in double.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "ffn/core/random.hpp"
#include "ffn/kernels/dropout.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/kernels/kernels.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using namespace ffn;

namespace {

struct Build {
  const char* name;
  Kernels kernels;
};

std::vector<Build> builds() {
  std::vector<Build> out;
  for (const auto& build : kernel_builds()) out.push_back({build.isa, build.kernel_rows()});
  return out;
}

std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<float> out(n);
  for (auto& x : out) x = static_cast<float>(random.uniform(-1, 1));
  return out;
}

struct Shape {
  std::int64_t m, n, k;
};

// How a matrix is stored: padding after each row, transposed or not.
struct Storage {
  bool transposed;
  std::int64_t padding;
  std::int64_t row(std::int64_t rows, std::int64_t cols) const { return transposed ? 1 : (void(rows), cols + padding); }
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
  Gemm g{s.m, s.n, s.k, a.data(), sa.row(s.m, s.k), sa.col(s.m), b.data(), sb.row(s.k, s.n), sb.col(s.k), c.data(), s.n + kMargin};
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
  Gemm g{s.m, s.n, s.k, a.data(), sa.row(s.m, s.k), sa.col(s.m), b.data(), sb.row(s.k, s.n), sb.col(s.k), c.data(), c_row};
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
  const std::vector<Shape> shapes{{64, 32, 8},     {13, 50, 65},    {403, 75, 1100}, {200, 300, 530}, {30, 2101, 70},
                                  {190, 2101, 40}, {1, 33, 1030},   {1021, 1, 129},  {4100, 520, 12}, {260, 1540, 720},
                                  {30, 70, 1024},  {270, 260, 2048},  // rows of A that share cache sets
                                  {131, 66, 1100}};                 // columns that fill no tile
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
            for (const std::int64_t margin : {0, 5}) wrong += wrong_elements(build, {m, n, k}, a, b, start, margin), ++tried;
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

TEST_CASE("softmax and its gradient, causal and not", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t n : {1, 2, 5, 16, 17, 40}) {
      for (const bool causal : {false, true}) {
        const auto x = random_values(static_cast<std::size_t>(n * n), 5);
        auto p = x, dx = random_values(static_cast<std::size_t>(n * n), 6);
        const auto dp = dx;
        build.kernels.softmax(n, n, 3.0f, causal ? 1 : 0, p.data());
        build.kernels.softmax_backward(n, n, 3.0f, p.data(), dx.data());
        test::Worst worst;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = [&](std::int64_t j) { return static_cast<std::size_t>(i * n + j); };
          const std::int64_t seen = causal ? i + 1 : n;
          double sum = 0, mean = 0;
          for (std::int64_t j = 0; j < seen; ++j) sum += std::exp(3.0 * static_cast<double>(x[at(j)]));
          const auto expected = [&](std::int64_t j) { return j < seen ? std::exp(3.0 * static_cast<double>(x[at(j)])) / sum : 0.0; };
          for (std::int64_t j = 0; j < n; ++j) mean += expected(j) * static_cast<double>(dp[at(j)]);
          for (std::int64_t j = 0; j < n; ++j) {
            worst.add(std::abs(static_cast<double>(p[at(j)]) - expected(j)));
            worst.add(std::abs(static_cast<double>(dx[at(j)]) - 3.0 * expected(j) * (static_cast<double>(dp[at(j)]) - mean)));
          }
        }
        CHECK(worst.error() < 1e-6);
      }
    }
  }
}

TEST_CASE("cross-entropy: loss, accuracy and gradient over the scored rows", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t classes : {1, 2, 3, 16, 17, 75}) {
      constexpr std::int64_t kRows = 21;
      auto logits = random_values(static_cast<std::size_t>(kRows * classes), 7);
      for (auto& x : logits) x *= 8;
      std::vector<std::int64_t> labels;
      for (std::int64_t i = 0; i < kRows; ++i) labels.push_back(i % 4 == 3 ? -1 : i * 7 % classes);
      std::vector<float> gradient(logits.size()), scratch(static_cast<std::size_t>(kRows * (classes + 3)));
      const auto sums = build.kernels.cross_entropy(kRows, classes, logits.data(), labels.data(), 0, gradient.data(), scratch.data());
      double loss = 0;
      test::Worst worst;
      std::int64_t correct = 0, scored = 0;
      for (std::int64_t i = 0; i < kRows; ++i) scored += labels[static_cast<std::size_t>(i)] >= 0;
      for (std::int64_t i = 0; i < kRows; ++i) {
        const auto label = labels[static_cast<std::size_t>(i)];
        const float* row = logits.data() + i * classes;
        double sum = 0;
        for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(static_cast<double>(row[j]));
        if (label >= 0)
          loss += std::log(sum) - static_cast<double>(row[label]), correct += std::max_element(row, row + classes) - row == label;
        for (std::int64_t j = 0; j < classes; ++j) {
          const double p = std::exp(static_cast<double>(row[j])) / sum;
          const double expected = label < 0 ? 0 : (p - (j == label)) / static_cast<double>(scored);
          worst.add(std::abs(static_cast<double>(gradient[static_cast<std::size_t>(i * classes + j)]) - expected));
        }
      }
      CHECK(sums.loss == Approx(loss).epsilon(1e-6));
      CHECK(sums.correct == correct);
      CHECK(sums.scored == scored);
      CHECK(worst.error() < 1e-7);

      auto half = gradient;  // as if these were half of the rows that the mean goes over
      build.kernels.cross_entropy(kRows, classes, logits.data(), labels.data(), 2 * scored, half.data(), scratch.data());
      for (std::size_t i = 0; i < half.size(); ++i) worst.add(std::abs(static_cast<double>(2 * half[i] - gradient[i])));
      CHECK(worst.error() < 1e-7);
    }
  }
}

TEST_CASE("the cross-entropy of two classes is that of three of which one is impossible, bit for bit", "[math]") {
  const float inf = HUGE_VALF;
  const auto same = [](float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b)); };
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t rows : {1, 7, 16, 37, 64}) {
      for (const bool extreme : {false, true}) {
        CAPTURE(rows, extreme);
        const auto count = static_cast<std::size_t>(rows);
        auto two = random_values(2 * count, 9);
        for (std::size_t i = 0; i < two.size(); ++i) two[i] *= i % 3 == 0 ? 40.0f : 2.0f;
        if (rows >= 7) two[4] = two[5];  // the first of two that are largest
        if (extreme) {
          const float extremes[] = {inf, 0, 0, inf, -inf, 0, 0, -inf, inf, inf, -inf, -inf};
          for (std::size_t i = 0; i < two.size(); i += 3) two[i] = extremes[i % 12];
        }
        std::vector<float> three, d_two(2 * count), d_three(3 * count), scratch(6 * count);
        std::vector<std::int64_t> labels;
        for (std::size_t i = 0; i < count; ++i) {
          three.insert(three.end(), {two[2 * i], two[2 * i + 1], -inf});
          labels.push_back(i % 5 == 3 ? -1 : static_cast<std::int64_t>(i * 7 / 3 % 2));
        }
        const auto a = build.kernels.cross_entropy(rows, 2, two.data(), labels.data(), 0, d_two.data(), scratch.data());
        const auto b = build.kernels.cross_entropy(rows, 3, three.data(), labels.data(), 0, d_three.data(), scratch.data());
        CHECK((a.loss == b.loss || (std::isnan(a.loss) && std::isnan(b.loss))));
        CHECK(std::isfinite(a.loss) == !extreme);
        CHECK(a.scored == b.scored);
        if (!extreme) CHECK(a.correct == b.correct);  // the places of what is largest are another matter beside NaN
        int different = 0;
        for (std::size_t i = 0; i < count; ++i) {
          for (std::size_t j = 0; j < 2; ++j) different += !same(d_two[2 * i + j], d_three[3 * i + j]);
        }
        CHECK(different == 0);
      }
    }
  }
}

TEST_CASE("a loss far below the rounding of 1 is still a loss", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t classes : {2, 3, 40}) {
      double before = 1;
      for (const float margin : {5.0f, 12.0f, 17.0f, 25.0f, 60.0f}) {
        std::vector<float> logits(static_cast<std::size_t>(classes), -1.5f), scratch(static_cast<std::size_t>(classes + 3));
        logits[1] = -1.5f + margin;
        const std::int64_t label = 1;
        const double loss = build.kernels.cross_entropy(1, classes, logits.data(), &label, 0, nullptr, scratch.data()).loss;
        const double gap = static_cast<double>(logits[1]) - static_cast<double>(logits[0]);
        CHECK(loss == Approx(std::log1p(static_cast<double>(classes - 1) * std::exp(-gap))).epsilon(1e-5));
        CHECK(loss < before);
        before = loss;
      }
    }
  }
}

TEST_CASE("a loss that is no longer finite shows", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    const float nan = std::nanf(""), inf = HUGE_VALF;
    for (const auto& logits : {std::vector<float>{nan, 0}, {0, nan}, {inf, 0}, {-inf, inf}, {nan, nan}}) {
      for (const std::int64_t label : {0, 1}) {
        float gradient[2], scratch[6];
        CHECK_FALSE(std::isfinite(build.kernels.cross_entropy(1, 2, logits.data(), &label, 0, gradient, scratch).loss));
        CHECK((std::isnan(gradient[0]) && std::isnan(gradient[1])));
      }
    }
  }
}

TEST_CASE("norms and their gradients against finite differences", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t d : {1, 3, 8, 16, 33}) {
      for (const bool centred : {true, false}) {
        const auto n = static_cast<std::size_t>(d);
        const auto x = random_values(n, 8), w = random_values(n, 9), b = random_values(n, 10), dy = random_values(n, 11);
        const auto value = [&](const std::vector<double>& at, const std::vector<double>& weight) {  // Σ dy·norm(at)
          double mean = 0, variance = 0, sum = 0;
          for (const double v : at) mean += centred ? v / static_cast<double>(d) : 0;
          for (const double v : at) variance += (v - mean) * (v - mean) / static_cast<double>(d);
          for (std::size_t j = 0; j < n; ++j)
            sum += static_cast<double>(dy[j]) *
                   ((at[j] - mean) / std::sqrt(variance + 1e-3) * weight[j] + (centred ? static_cast<double>(b[j]) : 0));
          return sum;
        };
        std::vector<float> y(n), normalised(n), dx(n), dw(n, 1.0f), db(n, 2.0f);
        float inverse;
        build.kernels.norm(1, d, 1e-3f, x.data(), w.data(), centred ? b.data() : nullptr, y.data(), normalised.data(), &inverse);
        build.kernels.norm_backward(1, d, dy.data(), w.data(), normalised.data(), &inverse, dx.data(), dw.data(),
                                    centred ? db.data() : nullptr);
        const std::vector<double> xd(x.begin(), x.end()), wd(w.begin(), w.end());
        double forward = 0;
        for (std::size_t j = 0; j < n; ++j) forward += static_cast<double>(dy[j]) * static_cast<double>(y[j]);
        CHECK(forward == Approx(value(xd, wd)).margin(1e-5));
        for (std::size_t j = 0; j < n; ++j) {
          auto up = xd, down = xd, heavier = wd;
          up[j] += 1e-5, down[j] -= 1e-5, heavier[j] += 1;
          CHECK(static_cast<double>(dx[j]) == Approx((value(up, wd) - value(down, wd)) / 2e-5).margin(1e-4));
          CHECK(static_cast<double>(dw[j]) == Approx(1 + value(xd, heavier) - value(xd, wd)).margin(1e-5));  // added to
          if (centred) CHECK(db[j] == Approx(2 + dy[j]));
        }
      }
    }
  }
}

TEST_CASE("a dropout mask is Philox's bits, element by element, in every build", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::size_t n : {1, 5, 64, 67, 200}) {
      std::vector<float> mask(n);
      for (const std::size_t first : {1, 4, 31, 63, 200}) {  // a part of it
        std::vector<float> whole(first + n);
        build.kernels.dropout_mask(first + n, 0.3, 17, 2, 3, whole.data(), 0);
        build.kernels.dropout_mask(n, 0.3, 17, 2, 3, mask.data(), first);
        CHECK(std::equal(mask.begin(), mask.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
      }
      build.kernels.dropout_mask(n, 0.3, 0x123456789abcdefULL, 5, 0x100000007ULL, mask.data(), 0);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto bits = philox({static_cast<std::uint32_t>(i / 4), 5, 7, 1}, 0x123456789abcdefULL)[i % 4];
        wrong += mask[i] != (static_cast<double>(bits) * 0x1p-32 < 0.3 ? 0.0f : static_cast<float>(1 / 0.7));
      }
      CHECK(wrong == 0);
      std::vector<std::uint32_t> words(n);
      build.kernels.random_bits(0x123456789abcdefULL, 0x700000002ULL, n, words.data());
      RandomStream stream(0x123456789abcdefULL, 0x700000002ULL);
      for (const auto word : words) wrong += word != stream.bits();
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("sums over columns, dot products and sums of squares", "[math]") {
  for (const auto& build : builds()) {
    INFO(build.name);
    for (const std::int64_t cols : {1, 7, 8, 32, 45}) {
      for (const std::int64_t rows : {0, 1, 2, 9}) {
        const auto x = random_values(static_cast<std::size_t>(rows * cols), 12);
        std::vector<float> out(static_cast<std::size_t>(cols), 5.0f);
        build.kernels.column_sums(rows, cols, x.data(), out.data());
        double squares = 0;
        for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
        for (std::int64_t j = 0; j < cols; ++j) {
          double total = 0;
          for (std::int64_t i = 0; i < rows; ++i) total += static_cast<double>(x[static_cast<std::size_t>(i * cols + j)]);
          CHECK(static_cast<double>(out[static_cast<std::size_t>(j)]) == Approx(total).margin(1e-5));
        }
        CHECK(build.kernels.sum_of_squares(x.size(), x.data()) == Approx(squares));
        CHECK(static_cast<double>(build.kernels.dot(rows * cols, x.data(), x.data())) == Approx(squares).margin(1e-5));
      }
    }
  }
}
