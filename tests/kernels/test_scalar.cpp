// The float functions behind the activations against the standard library in double.
#define FFN_ISA scalar_test
#include <algorithm>
#include <limits>

#include "ffn/kernels/scalar.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using namespace ffn::scalar_test;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Largest relative error of `fast` against `exact` on a dense grid from `low` to `high`.
template <class Fast, class Exact>
double largest_relative_error(float low, float high, const Fast& fast, const Exact& exact) {
  constexpr int kPoints = 1 << 20;
  ffn::test::Worst worst;
  for (int i = 0; i <= kPoints; ++i) {
    const float x = static_cast<float>(low + (static_cast<double>(high) - low) * i / kPoints);
    const double expected = exact(static_cast<double>(x));
    if (std::abs(expected) < std::numeric_limits<float>::min()) continue;
    worst.add(std::abs(fast(x) - expected) / std::abs(expected));
  }
  return worst.error();
}

#define FFN_FLOAT(f) [](float x) { return f(x); }
#define FFN_DOUBLE(f) [](double x) { return f(x); }

}  // namespace

// 3e-7 is what scalar.hpp promises: five times the rounding unit 2^-24.
TEST_CASE("the float functions are within 3e-7 of the true values") {
  CHECK(largest_relative_error(-87, 87, FFN_FLOAT(exp_), FFN_DOUBLE(std::exp)) < 3e-7);
  CHECK(largest_relative_error(-1, 1, FFN_FLOAT(exp_), FFN_DOUBLE(std::exp)) < 3e-7);
  CHECK(largest_relative_error(-20, 20, FFN_FLOAT(tanh_), FFN_DOUBLE(std::tanh)) < 3e-7);
  CHECK(largest_relative_error(-1, 1, FFN_FLOAT(tanh_), FFN_DOUBLE(std::tanh)) < 3e-7);
  CHECK(largest_relative_error(-1e-4f, 1e-4f, FFN_FLOAT(tanh_), FFN_DOUBLE(std::tanh)) < 3e-7);
  CHECK(largest_relative_error(-6, 6, FFN_FLOAT(erf_), FFN_DOUBLE(std::erf)) < 3e-7);
  CHECK(largest_relative_error(-1e-4f, 1e-4f, FFN_FLOAT(erf_), FFN_DOUBLE(std::erf)) < 3e-7);
  CHECK(largest_relative_error(0, 1, FFN_FLOAT(log1p_), FFN_DOUBLE(std::log1p)) < 3e-7);
  CHECK(largest_relative_error(0, 1e-4f, FFN_FLOAT(log1p_), FFN_DOUBLE(std::log1p)) < 3e-7);
  // e^x - 1 serves negative x only (elu).
  CHECK(largest_relative_error(-87, 0, FFN_FLOAT(expm1_), FFN_DOUBLE(std::expm1)) < 3e-7);
  CHECK(largest_relative_error(-1e-4f, 0, FFN_FLOAT(expm1_), FFN_DOUBLE(std::expm1)) < 3e-7);
}

TEST_CASE("the smallest floats pass through the odd functions unharmed") {
  for (const float x : {1e-30f, 1e-38f, 1e-40f, std::numeric_limits<float>::denorm_min(), 0.0f}) {
    for (const float z : {x, -x}) {
      CHECK(tanh_(z) == z);
      CHECK(erf_(z) == Approx(z * 1.128379167).epsilon(1e-6).margin(1.5e-45));
      CHECK(exp_(z) == 1.0f);
    }
    CHECK(log1p_(x) == x);
    CHECK(expm1_(-x) == Approx(-x).margin(1.5e-45));
  }
}

TEST_CASE("the float functions reach their limits and keep NaN") {
  CHECK(exp_(kInfinity) == kInfinity);
  CHECK(exp_(1e30f) == kInfinity);
  CHECK(exp_(-kInfinity) == 0.0f);
  CHECK(exp_(-1e30f) == 0.0f);
  CHECK(tanh_(kInfinity) == 1.0f);
  CHECK(tanh_(-kInfinity) == -1.0f);
  CHECK(tanh_(1e30f) == 1.0f);
  CHECK(erf_(kInfinity) == 1.0f);
  CHECK(erf_(-kInfinity) == -1.0f);
  CHECK(erf_(1e30f) == 1.0f);
  CHECK(expm1_(-kInfinity) == -1.0f);
  for (const float y : {exp_(kNan), tanh_(kNan), erf_(kNan), expm1_(kNan), log1p_(kNan), softplus(kNan), sigmoid(kNan), tanh_softplus(kNan),
                        normal_cdf(kNan)}) {
    CHECK(std::isnan(y));
  }
}
