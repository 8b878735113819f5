// One tile of a matrix product: it stays in registers while k runs. Per k one or two vector loads of B and a broadcast of
// each row's element of A. For gemm_rows.cpp alone, compiled with it once per instruction set (FFN_ISA).
#pragma once

#include <cstdint>
#include <utility>

#include "ffn/kernels/gemm_vector.hpp"

namespace ffn::FFN_ISA {
namespace {

// Operands of tiles of one height, one below the other.
struct Operands {
  int64_t depth;
  const float* a;
  int64_t a_row, a_col;  // one of them is 1
  int64_t a_tile;        // from a tile's A to that of the next one
  const float* b;        // rows of at least Lanes·Vecs values
  int64_t b_row;
  float* c;
  int64_t c_row;
  const float* bias;  // or null
  bool accumulate;
  const float* next_c;  // a tile of C that will be wanted, or null
  const float* next_a;  // memory that will be wanted: `next_step` values further for every four of k
  int64_t next_step;
};

// ByRow: the rows of A are contiguous (a_col is 1), otherwise its columns are (a_row is 1).
template <int Lanes, int Vecs, int Rows, bool ByRow>
inline __attribute__((always_inline)) void tile(const Operands& o, const float* a_first, float* c) {
  using V = typename Vector<Lanes>::type;
  V acc[Rows][Vecs];
  if (o.accumulate) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) acc[i][v] = load<V>(c + i * o.c_row + v * Lanes);
    }
  } else {
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) {
      const V start = o.bias ? load<V>(o.bias + v * Lanes) : V{};
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) acc[i][v] = start;
    }
  }
  if (o.next_c) {
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) __builtin_prefetch(o.next_c + i * o.c_row + v * Lanes, 1);
    }
  }
  // Three rows per pointer: x86 addresses p, p + s and p + 2s without further registers.
  constexpr int kPointers = ByRow ? (Rows + 2) / 3 : 1, kPerPointer = ByRow ? 3 : Rows;  // NOLINT(bugprone-branch-clone)
  const int64_t a_row = ByRow ? o.a_row : 1, a_col = ByRow ? 1 : o.a_col, b_row = o.b_row;
  const float* a[kPointers];
#pragma GCC unroll 8
  for (int p = 0; p < kPointers; ++p) a[p] = a_first + kPerPointer * p * a_row;
  const float* b = o.b;
  const float* ahead = o.next_a;
  int64_t left = o.depth;
  while (left > 0) {
    __builtin_prefetch(ahead, 0, 2);
    ahead += o.next_step;
#pragma GCC unroll 4
    for (int u = 0; u < 4; ++u) {
      V row[Vecs];
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) row[v] = load<V>(b + v * Lanes);
#pragma GCC unroll 16
      for (int i = 0; i < Rows; ++i) {
        const float s = a[i / kPerPointer][(i % kPerPointer) * a_row];
#pragma GCC unroll 2
        for (int v = 0; v < Vecs; ++v) acc[i][v] = multiply_add(s, row[v], acc[i][v]);
      }
#pragma GCC unroll 8
      for (int p = 0; p < kPointers; ++p) a[p] += a_col;
      b += b_row;
      if (--left == 0) break;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) store<V>(c + i * o.c_row + v * Lanes, acc[i][v]);
  }
}

template <int Lanes, int Vecs, int Rows, bool ByRow>
void tiles(const Operands& o, int64_t count) {
  const float* a = o.a;
  float* c = o.c;
  for (; count > 0; --count, a += o.a_tile, c += Rows * o.c_row) tile<Lanes, Vecs, Rows, ByRow>(o, a, c);
}

using Tiles = void (*)(const Operands&, int64_t count);

template <int Lanes, int Vecs, bool ByRow, int... I>
Tiles tiles_of(int64_t rows, std::integer_sequence<int, I...>) {
  static constexpr Tiles kTable[] = {tiles<Lanes, Vecs, I + 1, ByRow>...};
  return kTable[rows - 1];
}

template <bool ByRow>
Tiles tiles_of(int64_t width, int64_t rows) {
  constexpr auto kAll = std::make_integer_sequence<int, kMaxRows>{};
  if (width == kWidest) return tiles_of<kLanes, 2, ByRow>(rows, kAll);
  if (width == kLanes) return tiles_of<kLanes, 1, ByRow>(rows, kAll);
  return tiles_of<kLanes / 2, 1, ByRow>(rows, kAll);
}

Tiles tiles_of(int64_t width, int64_t rows, bool by_row) { return by_row ? tiles_of<true>(width, rows) : tiles_of<false>(width, rows); }

}  // namespace
}  // namespace ffn::FFN_ISA
