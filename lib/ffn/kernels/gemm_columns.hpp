// Few columns of a matrix product: vectors hold rows of C, where those of a tile (gemm_tile.hpp) would be mostly empty.
// For gemm_rows.cpp alone, compiled with it once per instruction set (FFN_ISA).
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#include "ffn/kernels/gemm_vector.hpp"

namespace ffn::FFN_ISA {
namespace {

constexpr int kMostColumns = 4;                      // that are computed from one reading of A
constexpr int kVecsOf[kMostColumns] = {8, 4, 2, 2};  // of rows, for one column, two, …: eight multiply-adds are in flight at once

// Operands of some columns of C.
struct Columns {
  int64_t depth;
  const float* a;
  int64_t a_row, a_col;  // one of them is 1
  const float* b;
  int64_t b_row, b_col;
  float* c;
  int64_t c_row;
  const float* bias;  // or null
  bool accumulate;
};

// acc[j] += column · b[j]
template <int Count, int Vecs, class V>
inline __attribute__((always_inline)) void add_product(const V (&column)[Vecs], const float* b, int64_t b_col, V (&acc)[Count][Vecs]) {
#pragma GCC unroll 4
  for (int j = 0; j < Count; ++j) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) acc[j][v] = multiply_add(b[j * b_col], column[v], acc[j][v]);
  }
}

// Lanes·Vecs rows of Count columns, the first `skip` of which are computed, but not stored.
// ByRow: the rows of A are contiguous (a_col is 1), otherwise its columns are (a_row is 1).
template <int Lanes, int Vecs, int Count, bool ByRow>
void columns(const Columns& o, int64_t skip) {
  using V = typename Vector<Lanes>::type;
  float values[Count][Vecs * Lanes];
  V acc[Count][Vecs];
  if (o.accumulate) {
    for (int64_t i = 0; i < Vecs * Lanes; ++i) {
      for (int j = 0; j < Count; ++j) values[j][i] = o.c[i * o.c_row + j];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < Count; ++j) {
    const float start = o.bias ? o.bias[j] : 0;
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) acc[j][v] = o.accumulate ? load<V>(values[j] + v * Lanes) : start - V{};  // a sum loses the sign of -0
  }
  const int64_t b_row = o.b_row, b_col = o.b_col;
  const float *a = o.a, *b = o.b;
  int64_t left = o.depth;
  if constexpr (ByRow) {
    for (; left >= 4; left -= 4, a += 4) {
      V four[4];
      load_transposed<Lanes>(a, o.a_row, four);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k, b += b_row) {
        const V column[Vecs] = {four[k]};
        add_product(column, b, b_col, acc);
      }
    }
  }
  for (; left > 0; --left, a += o.a_col, b += b_row) {
    V column[Vecs];
    if constexpr (ByRow) {
      float gathered[Lanes];
      for (int i = 0; i < Lanes; ++i) gathered[i] = a[i * o.a_row];
      column[0] = load<V>(gathered);
    } else {
#pragma GCC unroll 8
      for (int v = 0; v < Vecs; ++v) column[v] = load<V>(a + v * Lanes);
    }
    add_product(column, b, b_col, acc);
  }
#pragma GCC unroll 4
  for (int j = 0; j < Count; ++j) {
#pragma GCC unroll 8
    for (int v = 0; v < Vecs; ++v) store<V>(values[j] + v * Lanes, acc[j][v]);
  }
  if constexpr (Count > 1) {
    if (o.c_row == Count && skip == 0) {  // one piece, which compilers put together in vectors
      float rows[Vecs * Lanes][Count];
      for (int64_t i = 0; i < Vecs * Lanes; ++i) {
        for (int j = 0; j < Count; ++j) rows[i][j] = values[j][i];
      }
      std::memcpy(o.c, rows, sizeof rows);
      return;
    }
  }
  for (int64_t i = skip; i < Vecs * Lanes; ++i) {
    for (int j = 0; j < Count; ++j) o.c[i * o.c_row + j] = values[j][i];
  }
}

using FillColumns = void (*)(const Columns&, int64_t skip);

template <int Count, int... I>
FillColumns columns_of(int64_t vecs, std::integer_sequence<int, I...>) {
  static constexpr FillColumns kTable[] = {columns<kLanes, I + 1, Count, false>...};
  return kTable[vecs - 1];
}

template <int Count>
FillColumns columns_of(int64_t lanes, int64_t vecs, bool by_row) {
  if (lanes < kLanes) return by_row ? columns<kFewLanes, 1, Count, true> : columns<kFewLanes, 1, Count, false>;
  return by_row ? columns<kLanes, 1, Count, true> : columns_of<Count>(vecs, std::make_integer_sequence<int, kVecsOf[Count - 1]>{});
}

FillColumns columns_of(int64_t count, int64_t lanes, int64_t vecs, bool by_row) {
  switch (count) {
    case 1:
      return columns_of<1>(lanes, vecs, by_row);
    case 2:
      return columns_of<2>(lanes, vecs, by_row);
    case 3:
      return columns_of<3>(lanes, vecs, by_row);
    default:
      return columns_of<kMostColumns>(lanes, vecs, by_row);
  }
}

}  // namespace
}  // namespace ffn::FFN_ISA
