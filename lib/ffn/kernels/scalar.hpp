// exp, tanh, erf and log1p in float as branch-free polynomials that compilers vectorise, and in double by <cmath>.
// Included by files that are compiled once per instruction set (FFN_ISA): everything here is local to its build.
//
// Multiply-adds are written as fma() where the hardware has it and compiled with -ffp-contract=off, so a value gets the
// same bits in a vector body and in the scalar tail of a loop. Coefficients: Chebyshev fits over the stated intervals,
// made in double; measured relative error below 3e-7 for each function.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "ffn/kernels/expression.hpp"

namespace ffn::FFN_ISA {
namespace {

inline float fma_(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// c0 + c1 x + c2 x² + …, by recursion: a loop over coefficients would keep the loop over values from vectorising.
inline float polynomial(float, float c0) { return c0; }
template <class... Rest>
inline float polynomial(float x, float c0, Rest... rest) {
  return fma_(polynomial(x, rest...), x, c0);
}

/// `yes` where the condition holds, else `no`; |x|. As functions, so that a formula can also be recorded (expression.hpp).
template <class T>
inline T select(bool condition, T yes, T no) {
  return condition ? yes : no;
}
inline float abs_(float x) { return std::fabs(x); }
inline double abs_(double x) { return std::fabs(x); }

inline double exp_(double x) { return std::exp(x); }
inline double tanh_(double x) { return std::tanh(x); }
inline double erf_(double x) { return std::erf(x); }
inline double log1p_(double x) { return std::log1p(x); }
inline double expm1_(double x) { return std::expm1(x); }

/// e^x; 0 below e^-87.33 and infinity above e^88.37, where the exponent leaves the normal floats. NaN stays NaN.
inline float exp_(float x) {
  // Adding 1.5·2^23 rounds to an integer that then sits in the low bits.
  const float shifted = fma_(x, 1.442695041f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  // ln 2 in two parts, the first of 9 bits so that n times it is exact, also without fma (Cody & Waite 1980; Cephes expf).
  const float r = fma_(n, 2.12194440e-4f, fma_(n, -0.693359375f, x));
  std::int32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = static_cast<std::int32_t>((static_cast<std::uint32_t>(bits) + 127u) << 23);
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  const float y =
      polynomial(r, 1.0f, 1.0f, 5.000000108e-01f, 1.666641540e-01f, 4.166621814e-02f, 8.375135275e-03f, 1.394858994e-03f) * scale;
  const float floored = x < -87.33f ? 0.0f : y;
  return x > 88.37f ? HUGE_VALF : floored;
}

/// Odd polynomial below 0.63, 1 - 2/(e^2x + 1) above.
inline float tanh_(float x) {
  const float a = std::fabs(x);
  const float small = x * polynomial(x * x, 1.0f, -3.333332926e-01f, 1.333316781e-01f, -5.394285693e-02f, 2.168174690e-02f,
                                     -8.134003270e-03f, 2.105262128e-03f);
  const float large = 1.0f - 2.0f / (exp_(2.0f * a) + 1.0f);
  return a < 0.632f ? small : std::copysign(large, x);
}

/// e^x - 1 = 2t/(1 - t) with t = tanh(x/2): no cancellation near 0.
inline float expm1_(float x) {
  const float t = tanh_(0.5f * x);
  return 2.0f * t / (1.0f - t);
}

/// Odd polynomial up to 1, 1 - e^-q(|x|) from there to 4, where erf rounds to 1.
inline float erf_(float x) {
  const float a = std::fabs(x);
  const float t = a > 4.0f ? 4.0f : a;
  const float small = x * polynomial(x * x, 1.128379167e+00f, -3.761263848e-01f, 1.128378262e-01f, -2.686543831e-02f, 5.221053414e-03f,
                                     -8.484396565e-04f, 1.126825398e-04f, -9.673591026e-06f);
  const float large = 1.0f - exp_(-polynomial(t, -4.005005197e-04f, 1.130604469e+00f, 6.310888679e-01f, 1.109074172e-01f, -2.699949721e-02f,
                                              5.021044801e-03f, -6.733375621e-04f, 6.006879805e-05f, -3.095204871e-06f, 6.582858897e-08f));
  return a < 1.0f ? small : std::copysign(large, x);
}

/// ln(1 + u) for u in [0, 1].
inline float log1p_(float u) {
  return u * polynomial(u, 1.0f, -4.999998172e-01f, 3.333256918e-01f, -2.498739275e-01f, 1.989153748e-01f, -1.610863193e-01f,
                        1.242510293e-01f, -8.253533206e-02f, 4.155762251e-02f, -1.344483097e-02f, 2.037690498e-03f);
}

/// `value`, unless z is NaN: for results that do not depend on z. A diverged run has to show.
template <class T>
inline T unless_nan(T z, T value) {
  return select(z == z, value, z);
}

template <class T>
inline T sigmoid(T z) {
  return T(1) / (T(1) + exp_(-z));
}

/// ln(1 + e^z) = max(z, 0) + ln(1 + e^-|z|).
template <class T>
inline T softplus(T z) {
  const T positive = select(z < T(0), T(0), z);
  return positive + log1p_(exp_(-abs_(z)));
}

/// tanh(softplus(z)) = n/(n + 2) with n = e^z(e^z + 2): no logarithm needed. e^z is held below 2^28, where the ratio is 1.
template <class T>
inline T tanh_softplus(T z) {
  const T e = exp_(select(z > T(19), T(19), z));
  const T n = e * (e + T(2));
  return n / (n + T(2));
}

/// Φ(z), the standard normal distribution function.
template <class T>
inline T normal_cdf(T z) {
  return T(0.5) * (T(1) + erf_(z * T(0.7071067811865476)));
}

}  // namespace
}  // namespace ffn::FFN_ISA
