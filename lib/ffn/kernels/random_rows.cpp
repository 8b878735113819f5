// Random bits and dropout masks, compiled once per instruction set (FFN_ISA).
#include <cmath>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "ffn/kernels/kernels.hpp"

namespace ffn::FFN_ISA {
namespace {

// Several Philox4x32-10 blocks of base/random.hpp at once, a word per 64-bit lane: compilers do not find the instruction
// that multiplies the lower halves of such lanes by themselves.
#if defined(__AVX512F__)
typedef std::uint64_t Wide __attribute__((vector_size(64)));
inline Wide multiply_words(Wide a, Wide b) {
  return reinterpret_cast<Wide>(_mm512_mul_epu32(reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
#elif defined(__AVX2__)
typedef std::uint64_t Wide __attribute__((vector_size(32)));
inline Wide multiply_words(Wide a, Wide b) {
  return reinterpret_cast<Wide>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
#elif defined(__SSE2__)
typedef std::uint64_t Wide __attribute__((vector_size(16)));
inline Wide multiply_words(Wide a, Wide b) {
  return reinterpret_cast<Wide>(_mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
}
#else
typedef std::uint64_t Wide __attribute__((vector_size(16)));
inline Wide multiply_words(Wide a, Wide b) { return (a & 0xffffffffu) * (b & 0xffffffffu); }
#endif
constexpr std::uint32_t kWide = sizeof(Wide) / sizeof(std::uint64_t);
constexpr std::uint32_t kChains = 2;  // vectors in flight: a round is a chain of steps that wait for each other
constexpr std::uint32_t kBlocks = kChains * kWide;
constexpr std::size_t kWords = 4 * kBlocks;

// The lower words of a's and b's lanes in turn: a₀ b₀ a₁ b₁ …
inline Wide join_words(Wide a, Wide b) { return (a & 0xffffffffu) | (b << 32); }

// Lanes of a and b in turn, the first half of them and the second.
template <std::size_t... I>
inline void interleave(Wide a, Wide b, std::uint32_t* out, std::index_sequence<I...>) {
  const Wide low = __builtin_shufflevector(a, b, (I % 2 * kWide + I / 2)...);
  const Wide high = __builtin_shufflevector(a, b, (I % 2 * kWide + kWide / 2 + I / 2)...);
  std::memcpy(out, &low, sizeof low);
  std::memcpy(out + 2 * kWide, &high, sizeof high);
}

// Word w of block first + j goes to out[4·j + w], for j < kBlocks.
inline void philox_blocks(std::uint64_t key, std::uint32_t first, std::uint32_t c1_, std::uint32_t c2_, std::uint32_t c3_,
                          std::uint32_t* out) {
  const Wide zero = {};
  Wide c0[kChains], c1[kChains], c2[kChains], c3[kChains];
  for (std::uint32_t v = 0; v < kChains; ++v) {
    c1[v] = zero + c1_;
    c2[v] = zero + c2_;
    c3[v] = zero + c3_;
    for (std::uint32_t j = 0; j < kWide; ++j) c0[v][j] = first + v * kWide + j;
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
    for (std::uint32_t v = 0; v < kChains; ++v) {
      // The upper halves of the words may hold anything: products do not see them.
      const Wide p0 = multiply_words(c0[v], zero + 0xD2511F53u), p1 = multiply_words(c2[v], zero + 0xCD9E8D57u);
      c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
      c1[v] = p1;
      c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
      c3[v] = p0;
    }
  }
  for (std::uint32_t v = 0; v < kChains; ++v) {
    interleave(join_words(c0[v], c1[v]), join_words(c2[v], c3[v]), out + v * 4 * kWide, std::make_index_sequence<kWide>());
  }
}

inline std::size_t at_most(std::size_t n, std::size_t limit) { return n < limit ? n : limit; }

}  // namespace

void random_bits(std::uint64_t key, std::uint64_t stream, std::size_t n, std::uint32_t* bits) {
  for (std::size_t begin = 0; begin < n; begin += kWords) {
    std::uint32_t some[kWords];
    philox_blocks(key, static_cast<std::uint32_t>(begin / 4), 0, static_cast<std::uint32_t>(stream),
                  static_cast<std::uint32_t>(stream >> 32), some);
    std::memcpy(bits + begin, some, at_most(n - begin, kWords) * sizeof *bits);
  }
}

// Element i is word i % 4 of block i/4.
void dropout_mask(std::size_t n, double rate, std::uint64_t seed, std::uint32_t site, std::uint64_t step, float* mask, std::size_t first) {
  const auto threshold = static_cast<std::uint64_t>(std::llround(rate * 0x1p32));  // dropped when the bits are below
  const auto last_dropped = static_cast<std::uint32_t>(threshold - 1);             // rate < 1, so threshold < 2³²
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  const std::size_t end = first + n;
  for (std::size_t begin = first / 4 * 4; begin < end; begin += kWords) {
    std::uint32_t bits[kWords];
    philox_blocks(seed, static_cast<std::uint32_t>(begin / 4), site, static_cast<std::uint32_t>(step),
                  static_cast<std::uint32_t>(step >> 32), bits);
    float values[kWords];
    for (std::size_t i = 0; i < kWords; ++i) values[i] = threshold > 0 && bits[i] <= last_dropped ? 0.0f : kept;
    const std::size_t skip = begin < first ? first - begin : 0;
    std::memcpy(mask + (begin + skip - first), values + skip, (at_most(end - begin, kWords) - skip) * sizeof *mask);
  }
}

}  // namespace ffn::FFN_ISA
