// A recorded expression over many values at once, block by block, so that every operation is a loop that compilers vectorise.
// Included by files that are compiled once per instruction set, and by the one in double; Math has exp, tanh, erf and expm1.
#pragma once

#include <cmath>
#include <cstddef>

#include "ffn/kernels/expression.hpp"

namespace ffn::FFN_ISA {
namespace {

// A whole number from 2^53 on may have been rounded, as the powers of tasks are: in double it has no remainder.
template <class T>
T remainder_of(T a, T b) {
  if (sizeof(T) == sizeof(double) && !(std::abs(a) < T(0x1p53))) return std::nan("");
  const T r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

template <class T, class Math>
void run_blocks(const Expression& program, std::size_t n, const T* const* inputs, T* y) {
  constexpr std::size_t kBlock = 64;
  T values[Expression::kMost][kBlock];
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t count = n - first < kBlock ? n - first : kBlock;
    for (int k = 0; k < program.count; ++k) {
      const ExpressionNode& node = program.nodes[k];
      T* out = values[k];
      const T* a = node.a >= 0 ? values[node.a] : nullptr;  // of an input unused
      const T* b = node.b >= 0 ? values[node.b] : nullptr;
      const T* c = node.c >= 0 ? values[node.c] : nullptr;
      const auto each = [&](auto f) {
        for (std::size_t i = 0; i < count; ++i) out[i] = f(i);
      };
      switch (node.operation) {
        case Operation::input:
          each([&](std::size_t i) { return inputs[node.a][first + i]; });
          break;
        case Operation::constant:
          each([&](std::size_t) { return static_cast<T>(node.value); });
          break;
        case Operation::add:
          each([&](std::size_t i) { return a[i] + b[i]; });
          break;
        case Operation::subtract:
          each([&](std::size_t i) { return a[i] - b[i]; });
          break;
        case Operation::multiply:
          each([&](std::size_t i) { return a[i] * b[i]; });
          break;
        case Operation::divide:
          each([&](std::size_t i) { return a[i] / b[i]; });
          break;
        case Operation::remainder:
          each([&](std::size_t i) { return remainder_of(a[i], b[i]); });
          break;
        case Operation::negate:
          each([&](std::size_t i) { return -a[i]; });
          break;
        case Operation::absolute:
          each([&](std::size_t i) { return std::abs(a[i]); });
          break;
        case Operation::floor:
          each([&](std::size_t i) { return std::floor(a[i]); });
          break;
        case Operation::sqrt:
          each([&](std::size_t i) { return std::sqrt(a[i]); });
          break;
        case Operation::sin:
          each([&](std::size_t i) { return std::sin(a[i]); });
          break;
        case Operation::cos:
          each([&](std::size_t i) { return std::cos(a[i]); });
          break;
        case Operation::log:
          each([&](std::size_t i) { return std::log(a[i]); });
          break;
        case Operation::power:
          each([&](std::size_t i) { return std::pow(a[i], b[i]); });
          break;
        case Operation::exp:
          each([&](std::size_t i) { return Math::exp(a[i]); });
          break;
        case Operation::tanh:
          each([&](std::size_t i) { return Math::tanh(a[i]); });
          break;
        case Operation::erf:
          each([&](std::size_t i) { return Math::erf(a[i]); });
          break;
        case Operation::log1p:
          each([&](std::size_t i) { return std::log1p(a[i]); });
          break;
        case Operation::expm1:
          each([&](std::size_t i) { return Math::expm1(a[i]); });
          break;
        case Operation::less:
          each([&](std::size_t i) { return static_cast<T>(a[i] < b[i]); });
          break;
        case Operation::equal:
          each([&](std::size_t i) { return static_cast<T>(a[i] == b[i]); });
          break;
        case Operation::select:
          each([&](std::size_t i) { return a[i] != 0 ? b[i] : c[i]; });
          break;
      }
    }
    const T* result = values[program.count - 1];
    for (std::size_t i = 0; i < count; ++i) y[first + i] = result[i];
  }
}

}  // namespace
}  // namespace ffn::FFN_ISA
