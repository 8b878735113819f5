// Philox against its published vectors; the stream's distributions; the stability of names and sub-seeds.
#include <set>

#include "ffn/base/random.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr std::uint64_t key_of(std::uint32_t first, std::uint32_t second) { return std::uint64_t{second} << 32 | first; }

}  // namespace

TEST_CASE("Philox4x32-10 gives the known answers of Random123") {
  // Random123, tests/kat_vectors, "philox4x32 10".
  CHECK(philox({0, 0, 0, 0}, 0) == Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, key_of(0xffffffff, 0xffffffff)) ==
        Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, key_of(0xa4093822, 0x299f31d0)) ==
        Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a stream is Philox blocks of (index, stream) in order") {
  RandomStream stream(key_of(1, 2), key_of(3, 4));
  for (std::uint32_t block = 0; block < 3; ++block) {
    const auto expected = philox({block, 0, 3, 4}, key_of(1, 2));
    for (const auto word : expected) CHECK(stream.bits() == word);
  }
}

TEST_CASE("names hash by 64-bit FNV-1a") {
  // Fowler, Noll & Vo, http://www.isthe.com/chongo/tech/comp/fnv/, test vectors.
  CHECK(name_hash("") == 0xcbf29ce484222325);
  CHECK(name_hash("a") == 0xaf63dc4c8601ec8c);
  CHECK(name_hash("foobar") == 0x85944171f73967e8);
}

TEST_CASE("sub-seeds are pinned: a change here would change every published result") {
  // From an independent implementation in Python.
  CHECK(sub_seed(0, "init") == 0x36456bb03888188);
  CHECK(sub_seed(0, "data") == 0x3f31fc0bc57553ee);
  CHECK(sub_seed(42, "dropout") == 0xab2566f5f894c263);
  CHECK(sub_seed(0x7fffffffffffffff, "routing") == 0x857d8d553218e057);
}

TEST_CASE("sub-seeds of many seeds and roles are distinct") {
  const char* roles[] = {"init", "data", "dropout", "routing", "validation", "noise"};
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    for (const char* role : roles) {
      seen.insert(sub_seed(seed, role));
      ++count;
    }
  }
  REQUIRE(count == 12'000);
  CHECK(seen.size() == count);
}

TEST_CASE("uniform numbers fill [0, 1) evenly") {
  constexpr int kDraws = 1 << 20, kBins = 64;
  RandomStream stream(7, 0);
  double sum = 0, squares = 0, neighbours = 0, last = 0.5;
  int bins[kBins] = {};
  for (int i = 0; i < kDraws; ++i) {
    const double u = stream.uniform();
    if (u < 0 || u >= 1 || u != static_cast<double>(static_cast<float>(u))) FAIL("out of range or not a float: " << u);
    sum += u;
    squares += u * u;
    neighbours += (u - 0.5) * (last - 0.5);
    last = u;
    ++bins[static_cast<int>(u * kBins)];
  }
  // Tolerances are five standard errors: 0.2887/√n for the mean, √(4/45)/√n for u², 1/12/√n for neighbours.
  const double root = std::sqrt(kDraws);
  CHECK(sum / kDraws == Approx(0.5).margin(5 * 0.2887 / root));
  CHECK(squares / kDraws == Approx(1.0 / 3).margin(5 * 0.2981 / root));
  CHECK(neighbours / kDraws == Approx(0).margin(5 / 12.0 / root));
  double chi_squared = 0;
  for (const int observed : bins) chi_squared += std::pow(observed - kDraws / kBins, 2) / (kDraws / kBins);
  CHECK(chi_squared > 30);   // 63 degrees of freedom: P(below 30) is about 1e-4
  CHECK(chi_squared < 112);  // and P(above 112) about 1e-4
}

TEST_CASE("normal numbers have the moments of the standard normal") {
  constexpr int kDraws = 1 << 20;
  RandomStream stream(7, 1);
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  int beyond_2 = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = stream.normal();
    if (!std::isfinite(x)) FAIL("not finite");
    m1 += x;
    m2 += x * x;
    m3 += x * x * x;
    m4 += x * x * x * x;
    beyond_2 += std::abs(x) > 2;
  }
  // Five standard errors: Var(x) = 1, Var(x²) = 2, Var(x³) = 15, Var(x⁴) = 96.
  const double error = 5 / std::sqrt(kDraws);
  CHECK(m1 / kDraws == Approx(0).margin(error));
  CHECK(m2 / kDraws == Approx(1).margin(error * std::sqrt(2.0)));
  CHECK(m3 / kDraws == Approx(0).margin(error * std::sqrt(15.0)));
  CHECK(m4 / kDraws == Approx(3).margin(error * std::sqrt(96.0)));
  CHECK(beyond_2 / static_cast<double>(kDraws) == Approx(0.0455003).margin(error * 0.2084));
}

TEST_CASE("below(n) reaches every value of 0 to n - 1 and none beyond") {
  RandomStream stream(7, 2);
  int seen[10] = {};
  for (int i = 0; i < 100'000; ++i) {
    const auto x = stream.below(10);
    REQUIRE(x < 10);
    ++seen[x];
  }
  for (const int count : seen) CHECK(count == Approx(10'000).margin(5 * 95));  // σ = √(n p (1-p)) = 95
  CHECK(stream.below(1) == 0);
}

TEST_CASE("streams of different keys or numbers share nothing, the same stream repeats") {
  RandomStream a(1, 1), again(1, 1), other_key(2, 1), other_stream(1, 2), high_stream(1, key_of(1, 1));
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto bits = a.bits();
    REQUIRE(again.bits() == bits);
    equal += (bits == other_key.bits()) + (bits == other_stream.bits()) + (bits == high_stream.bits());
  }
  CHECK(equal == 0);  // by chance: 3000 · 2^-32
}
