// Vectors of floats and what the parts of a matrix product do with them. For gemm_rows.cpp alone, compiled with it once per
// instruction set (FFN_ISA).
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

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
constexpr int kFewLanes = kLanes < 8 ? kLanes : 8;  // of a vector, where there is less than kLanes of something

template <int Lanes>
struct Vector {
  typedef float type __attribute__((vector_size(Lanes * sizeof(float))));
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

// Four values of every fourth of the Lanes rows at `from`, which are `apart`, side by side.
template <int Lanes, int... I>
inline typename Vector<Lanes>::type load_fours(const float* from, int64_t apart, std::integer_sequence<int, I...>) {
  if constexpr (Lanes == 4) {
    return load<typename Vector<4>::type>(from);
  } else {
    constexpr auto kHalf = std::make_integer_sequence<int, Lanes / 2>{};
    return __builtin_shufflevector(load_fours<Lanes / 2>(from, apart, kHalf), load_fours<Lanes / 2>(from + Lanes / 2 * apart, apart, kHalf),
                                   I...);
  }
}

// In every four lanes: W and X of a, Y and Z of b.
template <int W, int X, int Y, int Z, class V, int... I>
inline V pick(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kPicked[] = {W, X, int{sizeof...(I)} + Y, int{sizeof...(I)} + Z};
  return __builtin_shufflevector(a, b, (I / 4 * 4 + kPicked[I % 4])...);
}

// column[k] = the k-th values of the Lanes rows at `from`, which are `apart`, for four k. Four by four, all fours of lanes at once.
template <int Lanes>
inline void load_transposed(const float* from, int64_t apart, typename Vector<Lanes>::type (&column)[4]) {
  using V = typename Vector<Lanes>::type;
  constexpr auto kAll = std::make_integer_sequence<int, Lanes>{};
  const V a = load_fours<Lanes>(from, apart, kAll), b = load_fours<Lanes>(from + apart, apart, kAll);
  const V c = load_fours<Lanes>(from + 2 * apart, apart, kAll), d = load_fours<Lanes>(from + 3 * apart, apart, kAll);
  const V ab_low = pick<0, 1, 0, 1>(a, b, kAll), ab_high = pick<2, 3, 2, 3>(a, b, kAll);  // a0 a1 b0 b1, a2 a3 b2 b3
  const V cd_low = pick<0, 1, 0, 1>(c, d, kAll), cd_high = pick<2, 3, 2, 3>(c, d, kAll);
  column[0] = pick<0, 2, 0, 2>(ab_low, cd_low, kAll);
  column[1] = pick<1, 3, 1, 3>(ab_low, cd_low, kAll);
  column[2] = pick<0, 2, 0, 2>(ab_high, cd_high, kAll);
  column[3] = pick<1, 3, 1, 3>(ab_high, cd_high, kAll);
}

}  // namespace
}  // namespace ffn::FFN_ISA
