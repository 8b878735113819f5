// The other kernels of every instruction set that this processor has, against plain loops in double.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "ffn/kernels/kernels.hpp"
#include "support/catch_plain.hpp"
#include "support/kernel_builds.hpp"
#include "support/worst.hpp"

using namespace ffn;
using test::builds;
using test::random_values;

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
        if (label >= 0) {
          loss += std::log(sum) - static_cast<double>(row[label]);
          correct += std::max_element(row, row + classes) - row == label;
        }
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
          up[j] += 1e-5;
          down[j] -= 1e-5;
          heavier[j] += 1;
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
