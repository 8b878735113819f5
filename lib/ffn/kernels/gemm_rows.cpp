// A matrix product for matrices that fit the second-level cache, compiled once per instruction set (FFN_ISA).
//
// C is cut into tiles of up to kMaxRows × 2 vectors that stay in registers while k runs: per k one or two vector loads of
// B and a broadcast of each row's element of A. B is read in place where its rows are contiguous, otherwise (transposed,
// at the right edge, or far apart) a panel of it is copied side by side first. The scheme is that of Goto & van de Geijn
// 2008, doi:10.1145/1356052.1356053, without their outer blocking, which these sizes do not need.
//
// An element of C is one chain of multiply-adds over k (in blocks of kDepth), whatever m and n are; where the processor has
// fused ones every one is fused, which is why they are not left to the compiler.
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "ffn/kernels/kernels.hpp"

namespace ffn::FFN_ISA {
namespace {

using std::int64_t;

#if defined(__AVX512F__)
constexpr int kLanes = 16, kMaxRows = 14;  // 28 of 32 registers hold the tile
#elif defined(__AVX2__)
constexpr int kLanes = 8, kMaxRows = 6;  // 12 of 16
#else
constexpr int kLanes = 4, kMaxRows = 6;
#endif
constexpr int kWidest = 2 * kLanes;
constexpr int64_t kDepth = 512;  // k at a time: bounds the panel to 64 KiB
constexpr int64_t kFar = 64;     // rows of B further apart than this share cache sets and are worth a copy

template <int Lanes>
struct Vector {
  typedef float type __attribute__((vector_size(Lanes * sizeof(float))));
};

struct Operands {
  int64_t depth;
  const float* a;
  int64_t a_row, a_col;
  const float* b;  // rows of at least Lanes·Vecs values
  int64_t b_row;
  float* c;
  int64_t c_row;
  const float* bias;  // or null
  bool accumulate;
};

// Vectors move through memcpy, which compilers make one unaligned instruction of.
template <class V>
inline V load(const float* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

template <class V>
inline void store(float* to, V v) {
  std::memcpy(to, &v, sizeof v);
}

// s·b + c
template <class V>
inline V multiply_add(float s, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == sizeof(__m512))
    return reinterpret_cast<V>(_mm512_fmadd_ps(_mm512_set1_ps(s), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#endif
#if defined(__FMA__)
  if constexpr (sizeof(V) == sizeof(__m256))
    return reinterpret_cast<V>(_mm256_fmadd_ps(_mm256_set1_ps(s), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
  if constexpr (sizeof(V) == sizeof(__m128))
    return reinterpret_cast<V>(_mm_fmadd_ps(_mm_set1_ps(s), reinterpret_cast<__m128>(b), reinterpret_cast<__m128>(c)));
#endif
  return s * b + c;
}

template <int Lanes, int Vecs, int Rows>
void tile(const Operands& o) {
  using V = typename Vector<Lanes>::type;
  V acc[Rows][Vecs];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) {
      const float* start = o.accumulate ? o.c + i * o.c_row + v * Lanes : o.bias ? o.bias + v * Lanes : nullptr;
      acc[i][v] = start ? load<V>(start) : V{};
    }
  }
  // Three rows per pointer: x86 addresses p, p + s and p + 2s without further registers.
  constexpr int kPointers = (Rows + 2) / 3;
  const int64_t a_row = o.a_row, a_col = o.a_col, b_row = o.b_row;
  const float* a[kPointers];
#pragma GCC unroll 8
  for (int p = 0; p < kPointers; ++p) a[p] = o.a + 3 * p * a_row;
  const float* b = o.b;
  for (int64_t k = 0; k < o.depth; ++k, b += b_row) {
    V row[Vecs];
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) row[v] = load<V>(b + v * Lanes);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      const float s = a[i / 3][(i % 3) * a_row];
#pragma GCC unroll 2
      for (int v = 0; v < Vecs; ++v) acc[i][v] = multiply_add(s, row[v], acc[i][v]);
    }
#pragma GCC unroll 8
    for (int p = 0; p < kPointers; ++p) a[p] += a_col;
  }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < Vecs; ++v) store<V>(o.c + i * o.c_row + v * Lanes, acc[i][v]);
  }
}

using Tile = void (*)(const Operands&);

template <int Lanes, int Vecs, int... I>
Tile tile_of(int64_t rows, std::integer_sequence<int, I...>) {
  static constexpr Tile table[] = {tile<Lanes, Vecs, I + 1>...};
  return table[rows - 1];
}

Tile tile_of(int width, int64_t rows) {
  constexpr auto all = std::make_integer_sequence<int, kMaxRows>{};
  if (width == kWidest) return tile_of<kLanes, 2>(rows, all);
  if (width == kLanes) return tile_of<kLanes, 1>(rows, all);
  return tile_of<kLanes / 2, 1>(rows, all);
}

// Copies rows of a number of values that the compiler knows: a few instructions each.
template <int Columns>
void copy_rows(int64_t rows, const float* from, int64_t from_row, float* to, int64_t to_row) {
  for (int64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_row, from + i * from_row, Columns * sizeof(float));
}

using Copy = void (*)(int64_t, const float*, int64_t, float*, int64_t);

template <int... I>
Copy copy_of(int64_t columns, std::integer_sequence<int, I...>) {
  static constexpr Copy table[] = {copy_rows<I + 1>...};
  return table[columns - 1];
}

int width_for(int64_t columns) {
  if (columns >= kWidest) return kWidest;
  return columns <= kLanes / 2 ? kLanes / 2 : kLanes;
}

// to[k·width + j] = from[k + j·col] for four by four values.
inline void transpose_four(const float* from, int64_t col, float* to, int width) {
  using Four = typename Vector<4>::type;
  const Four a = load<Four>(from), b = load<Four>(from + col), c = load<Four>(from + 2 * col), d = load<Four>(from + 3 * col);
  const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  store<Four>(to, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  store<Four>(to + width, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  store<Four>(to + 2 * width, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  store<Four>(to + 3 * width, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

// Copies the depth × columns values at `from` into rows of `width`, zero beyond the columns.
void copy_panel(int64_t depth, int64_t columns, int width, const float* from, int64_t row, int64_t col, float* to) {
  if (columns < width) std::memset(to, 0, static_cast<size_t>(depth * width) * sizeof(float));
  if (col == 1) {
    copy_of(columns, std::make_integer_sequence<int, kWidest>{})(depth, from, row, to, width);
    return;
  }
  const int64_t fours = row == 1 ? columns / 4 * 4 : 0, deep = depth / 4 * 4;
  for (int64_t j = 0; j < fours; j += 4) {
    for (int64_t k = 0; k < deep; k += 4) transpose_four(from + k + j * col, col, to + k * width + j, width);
    for (int64_t k = deep; k < depth; ++k) {
      for (int64_t q = j; q < j + 4; ++q) to[k * width + q] = from[k + q * col];
    }
  }
  for (int64_t j = fours; j < columns; ++j) {
    for (int64_t k = 0; k < depth; ++k) to[k * width + j] = from[k * row + j * col];
  }
}

// A tile that is wider than what is left of C is computed beside it.
void edge_tile(const Operands& o, int width, int64_t columns, int64_t rows) {
  const Copy copy = copy_of(columns, std::make_integer_sequence<int, kWidest>{});
  float c[kMaxRows * kWidest], bias[kWidest] = {};
  Operands inside = o;
  inside.c = c, inside.c_row = width;
  if (o.accumulate) std::memset(c, 0, sizeof c), copy(rows, o.c, o.c_row, c, width);
  if (o.bias) copy(1, o.bias, 0, bias, 0), inside.bias = bias;
  tile_of(width, rows)(inside);
  copy(rows, c, width, o.c, o.c_row);
}

void multiply_block(const Gemm& g, int64_t k0, int64_t depth) {
  alignas(64) static thread_local float panel[kDepth * kWidest];
  const int64_t blocks = (g.m + kMaxRows - 1) / kMaxRows;
  const float* b = g.b + k0 * g.b_row;
  for (int64_t j = 0; j < g.n;) {
    const int width = width_for(g.n - j);
    const int64_t columns = g.n - j < width ? g.n - j : width;
    Operands o{depth,
               g.a + k0 * g.a_col,
               g.a_row,
               g.a_col,
               b + j * g.b_col,
               g.b_row,
               g.c + j,
               g.c_row,
               g.bias ? g.bias + j : nullptr,
               g.accumulate || k0 > 0};
    const bool far = g.b_row > kFar && g.m >= 2 * kMaxRows;
    if (g.b_col != 1 || columns < width || far) {
      copy_panel(depth, columns, width, o.b, g.b_row, g.b_col, panel);
      o.b = panel, o.b_row = width;
    }
    for (int64_t block = 0, i = 0; block < blocks; ++block) {
      const int64_t rows = (g.m - i + blocks - block - 1) / (blocks - block);  // even heights: no thin last tile
      if (columns == width) tile_of(width, rows)(o);
      else edge_tile(o, width, columns, rows);
      o.a += rows * g.a_row, o.c += rows * g.c_row, i += rows;
    }
    j += columns;
  }
}

}  // namespace

void gemm(const Gemm& g) {
  if (g.k == 0) {
    multiply_block(g, 0, 0);
    return;
  }
  for (int64_t k = 0; k < g.k; k += kDepth) multiply_block(g, k, g.k - k < kDepth ? g.k - k : kDepth);
}

}  // namespace ffn::FFN_ISA
