// Copies of parts of a product's operands, in the order in which its tiles read them, and the memory for them.
// For gemm_rows.cpp alone, compiled with it once per instruction set (FFN_ISA).
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "ffn/kernels/gemm_vector.hpp"

namespace ffn::FFN_ISA {
namespace {

constexpr int64_t kGap = 16;   // between copies that would otherwise begin in the same cache set
constexpr int64_t kAhead = 8;  // rows that are fetched before they are copied: hardware does not follow steps of a page

// How the rows of C are cut: as evenly as can be, so that the last tile is not a thin one.
struct Heights {
  explicit Heights(int64_t m) : tiles((m + kMaxRows - 1) / kMaxRows), low(m / tiles), higher(m % tiles) {}
  int64_t tiles, low, higher;  // the first `higher` of them have a row more than `low`

  int64_t rows(int64_t tile) const { return low + (tile < higher); }
  int64_t start(int64_t tile) const { return tile * low + std::min(tile, higher); }
};

// Columns of C that are computed together: `columns` from j on, in tiles of `width`. None: the end. It is changed in place: a copy would
// wait for the values that it takes by twos to be in the cache, longer than a small product takes to begin.
struct Panel {
  Panel(int64_t first, int64_t end) { begin(first, end); }
  int64_t j, columns, width;

  void begin(int64_t first, int64_t end) {
    const int64_t rest = end - first;
    j = first;
    width = rest >= kWidest ? kWidest : rest <= kLanes / 2 ? kLanes / 2 : kLanes;
    columns = std::min(rest, width);
  }
  void move_on(int64_t end) { begin(j + columns, end); }
  // The last one, where it is narrower than its tiles: together with columns before it, whose values are computed once more.
  void move_inside(int64_t end) {
    if (columns < width && end >= width) {
      j = end - width;
      columns = width;
    }
  }
  // Offset of the tile's copy in the copy of a block of B that begins with column j0. Up to three narrow tiles share a place.
  int64_t place(int64_t j0, int64_t depth) const { return (j - j0) / kWidest * (depth * kWidest + kGap) + (j - j0) % kWidest * depth; }
};

// Memory of one thread, kept until it ends: a product takes no longer because it has to be found and mapped.
class Buffer {
 public:
  float* floats(int64_t count) {
    constexpr int64_t kAlignment = 64;
    if (count > count_) {
      const auto bytes = static_cast<std::size_t>((count * static_cast<int64_t>(sizeof(float)) + kAlignment - 1) / kAlignment * kAlignment);
      floats_.reset(static_cast<float*>(std::aligned_alloc(kAlignment, bytes)));
      count_ = floats_ ? count : 0;
      if (!floats_) throw std::bad_alloc();
    }
    return floats_.get();
  }

 private:
  struct Free {
    void operator()(float* floats) const { std::free(floats); }
  };
  std::unique_ptr<float, Free> floats_;
  int64_t count_ = 0;
};

// Copies rows of a number of values that the compiler knows: a few instructions each.
template <int Columns>
void copy_rows(int64_t rows, const float* from, int64_t from_row, float* to, int64_t to_row) {
  for (int64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_row, from + i * from_row, Columns * sizeof(float));
}

using Copy = void (*)(int64_t, const float*, int64_t, float*, int64_t);

template <int... I>
Copy copy_of(int64_t columns, std::integer_sequence<int, I...>) {
  static constexpr Copy kTable[] = {copy_rows<I + 1>...};
  return kTable[columns - 1];
}

// Columns: at most kWidest.
Copy copy_of(int64_t columns) { return copy_of(columns, std::make_integer_sequence<int, kWidest>{}); }

// to[k·width + j] = from[k + j·col] for four by four values.
inline void transpose_four(const float* from, int64_t col, float* to, int64_t width) {
  typename Vector<4>::type row[4];
  load_transposed<4>(from, col, row);
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) store(to + k * width, row[k]);
}

// Copies the depth × columns values at `from` into rows of `width`, zero beyond the columns.
void copy_panel(int64_t depth, int64_t columns, int64_t width, const float* from, int64_t row, int64_t col, float* to) {
  if (columns < width) std::memset(to, 0, static_cast<std::size_t>(depth * width) * sizeof(float));
  if (col == 1) {
    copy_of(columns)(depth, from, row, to, width);
    return;
  }
  const bool by_four = row == 1 && columns >= 4;
  const int64_t deep = by_four ? depth / 4 * 4 : 0;
  constexpr int64_t kLine = 16;    // of a column: what is fetched together is used together, where columns share cache sets
  constexpr int64_t kFetched = 2;  // lines
  for (int64_t k0 = 0; k0 < deep; k0 += kLine) {
    const int64_t k1 = std::min(k0 + kLine, deep);
    for (int64_t j = 0; j < columns; j += 4) {
      const int64_t first = std::min(j, columns - 4);  // the last four overlap
      for (int64_t c = 0; c < 4; ++c) __builtin_prefetch(from + k0 + kFetched * kLine + (first + c) * col);
      for (int64_t k = k0; k < k1; k += 4) transpose_four(from + k + first * col, col, to + k * width + first, width);
    }
  }
  for (int64_t k = deep; k < depth; ++k) {
    for (int64_t j = 0; j < columns; ++j) to[k * width + j] = from[k * row + j * col];
  }
}

inline void fetch(const float* from, int64_t values) {
  constexpr int64_t kLine = 16;
  for (int64_t i = 0; i < values; i += kLine) __builtin_prefetch(from + i);
}

// Copies columns j0 to j1 of B, panel by panel.
void copy_block(int64_t depth, int64_t j0, int64_t j1, const float* from, int64_t row, int64_t col, float* to) {
  Panel panel(j0, j1);
  if (col == 1) {
    // All full panels at once: along the rows, which stand side by side.
    const int64_t full = (j1 - j0) / kWidest;
    for (int64_t k = 0; k < depth; ++k) {
      if (k + kAhead < depth) fetch(from + (k + kAhead) * row, full * kWidest);
      for (int64_t p = 0; p < full; ++p)
        std::memcpy(to + p * (depth * kWidest + kGap) + k * kWidest, from + k * row + p * kWidest, kWidest * sizeof(float));
    }
    panel.begin(j0 + full * kWidest, j1);
  }
  for (; panel.columns > 0; panel.move_on(j1))
    copy_panel(depth, panel.columns, panel.width, from + (panel.j - j0) * col, row, col, to + panel.place(j0, depth));
}

// Copies `count` tiles of a transposed A. Rows: of each, or 0 if `rows` says how many.
template <int Rows>
void copy_tiles(int64_t count, int64_t rows, int64_t depth, const float* from, int64_t col, float* to) {
  constexpr int64_t kTogether = 16;  // tiles: their rows stand side by side in A
  const int64_t height = Rows > 0 ? Rows : rows, size = height * depth + kGap;
  for (; count > 0; count -= kTogether, from += kTogether * height, to += kTogether * size) {
    const int64_t some = std::min(count, kTogether);
    for (int64_t k = 0; k < depth; ++k) {
      const float* row = from + k * col;
      if (k + kAhead < depth) fetch(row + kAhead * col, some * height);
      float* out = to + k * height;
      for (int64_t t = 0; t < some; ++t) std::memcpy(out + t * size, row + t * height, static_cast<std::size_t>(height) * sizeof(float));
    }
  }
}

// Copies A, the rows of each tile side by side, k after k.
void copy_strips(const Heights& heights, int64_t depth, const float* from, int64_t row, int64_t col, float* to) {
  const auto copy = [&](int64_t first, int64_t count, int64_t rows) {
    const float* a = from + heights.start(first) * row;
    float* strips = to + heights.start(first) * depth + first * kGap;
    if (row != 1) {
      for (int64_t t = 0; t < count; ++t) copy_panel(depth, rows, rows, a + t * rows * row, col, row, strips + t * (rows * depth + kGap));
      return;
    }
    // Most tiles have one of two heights, which the compiler knows here.
    const auto some = rows == kMaxRows ? copy_tiles<kMaxRows> : rows == kMaxRows - 1 ? copy_tiles<kMaxRows - 1> : copy_tiles<0>;
    some(count, rows, depth, a, col, strips);
  };
  copy(0, heights.higher, heights.low + 1);
  copy(heights.higher, heights.tiles - heights.higher, heights.low);
}

}  // namespace
}  // namespace ffn::FFN_ISA
