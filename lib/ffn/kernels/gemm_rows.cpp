// A matrix product in float32, compiled once per instruction set (FFN_ISA).
//
// C is cut into tiles of up to kMaxRows × 2 vectors, which stay in registers while k runs (gemm_tile.hpp). Few rows or columns: a
// panel of B, k × 2 vectors, is held in the first-level cache and all rows of A run past it; it is read in place where its rows are
// contiguous, otherwise (transposed, at the right edge, or far apart) copied side by side first. Many rows and columns: a block of
// B, kDepth × kColumns, is copied panel by panel into the second-level cache, and the rows of A for one tile after the other run
// past it, while those of the next tile and what they are added to are fetched. The scheme is that of Goto & van de Geijn 2008,
// doi:10.1145/1356052.1356053, with A and B in each other's place, since it is rows of C that are contiguous.
//
// An element of C is one chain of multiply-adds over k (the sums rest in C between blocks of k), whatever m and n are; where the
// processor has fused ones every one is fused, which is why they are not left to the compiler.
#include <algorithm>

#include "ffn/kernels/gemm_columns.hpp"
#include "ffn/kernels/gemm_packing.hpp"
#include "ffn/kernels/gemm_tile.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::FFN_ISA {
namespace {

// Measured on Zen 3 to 5 and two Intel Xeons; the results do not depend on them. A block of B takes two thirds of a second-level cache: 1
// MiB where there is AVX-512, half of that on older processors. Each further block of k reads and writes C once more.
#if defined(__AVX512F__)
constexpr int64_t kDepth = 704, kColumns = 256;
constexpr int64_t kFarDown = 512, kWorthDown = 256, kFarAcross = 512, kWorthAcross = 1536;
#else
constexpr int64_t kDepth = 512, kColumns = 160;
constexpr int64_t kFarDown = 128, kWorthDown = 256, kFarAcross = 512, kWorthAcross = 512;
#endif
// A is copied from this distance between the values that a tile reads one after the other, for this many columns of C: the columns of
// a transposed A (of which a tile uses 24 of 64 bytes with AVX2) and the rows of one that is not.
constexpr int64_t kRows = 4096;                           // of A: bounds its copy to 11 MiB
constexpr int64_t kManyRows = 256, kManyColumns = 256;    // from which on B is copied by blocks
constexpr int64_t kWorthCopying = 64;                     // rows of A, for its copy
constexpr int64_t kFar = 64;                              // rows of B further apart than this share cache sets and are worth a copy
constexpr int64_t kSameSet = 1024, kWorthColliding = 64;  // rows of A this far apart, or a multiple of it, share cache sets: likewise

bool is_in_place(const Gemm& g, int64_t columns, int64_t width) {
  const bool far = g.b_row > kFar && g.m >= 2 * kMaxRows;
  return g.b_col == 1 && columns == width && !far;
}

// A tile that is wider than the rest of C is computed in scratch memory.
void edge_tile(const Operands& o, int64_t width, int64_t columns, int64_t rows) {
  const Copy copy = copy_of(columns);
  float c[kMaxRows * kWidest], bias[kWidest] = {};
  Operands inside = o;
  inside.c = c;
  inside.c_row = width;
  inside.next_c = nullptr;
  if (o.accumulate) std::memset(c, 0, sizeof c), copy(rows, o.c, o.c_row, c, width);
  if (o.bias) {
    copy(1, o.bias, 0, bias, 0);
    inside.bias = bias;
  }
  tiles_of(width, rows, o.a_col == 1 && o.a_row != 1)(inside, 1);
  copy(rows, c, width, o.c, o.c_row);
}

// `count` tiles of one height, one below the other; `o` moves on past them.
void run_tiles(Operands& o, const Panel& panel, int64_t rows, int64_t count) {
  if (panel.columns == panel.width) {
    tiles_of(panel.width, rows, o.a_col == 1 && o.a_row != 1)(o, count);
    o.a += count * o.a_tile;
    o.c += count * rows * o.c_row;
    return;
  }
  for (; count > 0; --count, o.a += o.a_tile, o.c += rows * o.c_row) edge_tile(o, panel.width, panel.columns, rows);
}

// A over a block of k, in place or copied.
struct Left {
  const float* data;
  int64_t row, col;
  bool strips;  // copied: the rows of each tile side by side, k after k

  int64_t tile(int64_t rows, int64_t depth) const { return strips ? rows * depth + kGap : rows * row; }
};

Operands operands(const Gemm& g, const Left& left, int64_t rows, int64_t k, int64_t depth, const Panel& panel) {
  return {depth,
          left.data,
          left.row,
          left.strips ? rows : left.col,
          left.tile(rows, depth),
          nullptr,
          panel.width,
          g.c + panel.j,
          g.c_row,
          g.bias ? g.bias + panel.j : nullptr,
          g.accumulate || k > 0,
          nullptr,
          left.data,
          0};
}

// A tile of few columns would be mostly empty: vectors can hold rows of C instead. Where the rows of A are contiguous they are
// transposed on the way, four k at a time, which an empty part of a tile pays for; for few k, or rows that share cache sets,
// a full one over columns that are done (Panel::move_inside) is as cheap. Otherwise the cost decides, in cycles per k: a
// multiply-add waits four for the one before it, and two begin in each, of 64 bytes one.
bool is_narrow(const Gemm& g, const Left& left, int64_t depth, const Panel& panel) {
  if (panel.columns > kMostColumns || panel.width != kLanes / 2 || left.strips || g.m < kFewLanes) return false;
  if (left.col == 1) return panel.columns < panel.width && (panel.j == 0 ? depth >= 4 : depth >= 16 && left.row % kSameSet != 0);
  constexpr int64_t kWait = 4, kPerCycle = kLanes < 16 ? 2 : 1;
  const int64_t by_columns = std::max(kWait, panel.columns * ((g.m + kLanes - 1) / kLanes) / kPerCycle);
  const int64_t by_tiles = (g.m + kMaxRows - 1) / kMaxRows * std::max<int64_t>(kWait, kMaxRows / 2);
  return 5 * by_columns <= 4 * by_tiles;
}

// Columns of A that are far apart are read in long pieces, for one column of C at a time.
void fill_columns(const Gemm& g, const Left& left, int64_t k, int64_t depth, const Panel& panel) {
  const bool by_row = left.col == 1;
  const int64_t together = left.col >= kSameSet ? 1 : panel.columns;
  const int64_t lanes = g.m < kLanes ? kFewLanes : kLanes, most = by_row ? 1 : kVecsOf[together - 1];
  for (int64_t j = panel.j; j < g.n; j += together) {
    Columns o{depth,
              nullptr,
              left.row,
              left.col,
              g.b + k * g.b_row + j * g.b_col,
              g.b_row,
              g.b_col,
              nullptr,
              g.c_row,
              g.bias ? g.bias + j : nullptr,
              g.accumulate || k > 0};
    for (int64_t i = 0; i < g.m;) {
      const int64_t vecs = std::clamp<int64_t>((g.m - i) / lanes, 1, most), first = std::min(i, g.m - vecs * lanes);
      o.a = left.data + first * left.row;
      o.c = g.c + j + first * g.c_row;
      columns_of(together, lanes, vecs, by_row)(o, i - first);  // those that were computed before are not stored again
      i = first + vecs * lanes;
    }
  }
}

// Panel by panel, all rows past each.
void sweep_down(const Gemm& g, const Heights& heights, const Left& left, int64_t k, int64_t depth) {
  alignas(64) static thread_local float copied[kDepth * kWidest];
  for (Panel panel(0, g.n); panel.columns > 0; panel.move_on(g.n)) {
    if (is_narrow(g, left, depth, panel)) return fill_columns(g, left, k, depth, panel);
    if (!g.accumulate && k == 0) panel.move_inside(g.n);
    Operands o = operands(g, left, heights.low + 1, k, depth, panel);
    o.b = g.b + k * g.b_row + panel.j * g.b_col;
    o.b_row = g.b_row;
    if (!is_in_place(g, panel.columns, panel.width)) {
      copy_panel(depth, panel.columns, panel.width, o.b, g.b_row, g.b_col, copied);
      o.b = copied;
      o.b_row = panel.width;
    }
    if (heights.higher > 0) run_tiles(o, panel, heights.low + 1, heights.higher);
    o.a_tile = left.tile(heights.low, depth);
    if (left.strips) o.a_col = heights.low;
    if (heights.higher < heights.tiles) run_tiles(o, panel, heights.low, heights.tiles - heights.higher);
  }
}

// Tile after tile of rows, each past all panels of columns j0 to j1.
void sweep_right(const Gemm& g, const Heights& heights, Left left, int64_t k, int64_t depth, int64_t j0, int64_t j1) {
  static thread_local Buffer buffer;
  float* block = buffer.floats((kDepth + kGap) * (kColumns + kWidest));
  copy_block(depth, j0, j1, g.b + k * g.b_row + j0 * g.b_col, g.b_row, g.b_col, block);
  const int64_t panels = (j1 - j0 + kWidest - 1) / kWidest;
  Gemm below = g;
  for (int64_t t = 0; t < heights.tiles; ++t) {
    const int64_t rows = heights.rows(t), size = left.tile(rows, depth);
    const float* next = left.data + size;
    for (Panel panel(j0, j1); panel.columns > 0; panel.move_on(j1)) {
      Operands o = operands(below, left, rows, k, depth, panel);
      o.b = block + panel.place(j0, depth);
      o.next_c = o.c + panel.columns;
      if (left.strips) {
        o.next_a = next;
        o.next_step = (4 * rows + panels - 1) / panels;
        next += rows * depth / panels;
      }
      run_tiles(o, panel, rows, 1);
    }
    left.data += size;
    below.c += rows * g.c_row;
  }
}

// The rows of a tile share a set of the first-level cache, which has no more than 8 ways on many a processor.
bool collide(const Gemm& g) { return kMaxRows > 8 && g.a_col == 1 && g.a_row % kSameSet == 0 && g.m >= kMaxRows && g.n >= kWorthColliding; }

void multiply(const Gemm& g) {
  const Heights heights(g.m);
  const bool large = g.m >= kManyRows && g.n >= kManyColumns;
  const bool far = g.a_row == 1 ? g.a_col >= kFarDown && g.n >= kWorthDown : g.a_row >= kFarAcross && g.n >= kWorthAcross;
  const bool copies = (g.a_row != 1 && g.a_col != 1) || (far && g.m >= kWorthCopying) || collide(g);
  const int64_t parts = std::max<int64_t>(1, (g.k + kDepth - 1) / kDepth);
  for (int64_t p = 0; p < parts; ++p) {
    int64_t k = 0, depth = g.k;
    // divisions that a small product would notice
    if (parts > 1) {
      k = p * g.k / parts;
      depth = (p + 1) * g.k / parts - k;
    }
    Left left{g.a + k * g.a_col, g.a_row, g.a_col, false};
    if (copies) {
      static thread_local Buffer buffer;
      float* strips = buffer.floats(g.m * kDepth + heights.tiles * kGap);
      copy_strips(heights, depth, left.data, g.a_row, g.a_col, strips);
      left = {strips, 1, 0, true};
    }
    if (!large) {
      sweep_down(g, heights, left, k, depth);
      continue;
    }
    for (int64_t j = 0; j < g.n; j += kColumns) sweep_right(g, heights, left, k, depth, j, std::min(g.n, j + kColumns));
  }
}

}  // namespace

void gemm(const Gemm& g) {
  if (g.m == 0 || g.n == 0) return;
  if (g.m <= kRows) return multiply(g);
  Gemm some = g;
  for (int64_t i = 0; i < g.m; i += kRows, some.a += kRows * g.a_row, some.c += kRows * g.c_row) {
    some.m = std::min(kRows, g.m - i);
    multiply(some);
  }
}

}  // namespace ffn::FFN_ISA
