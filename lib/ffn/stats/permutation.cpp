// Paired permutation tests. Depends on the standard library only.
#include "ffn/stats/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/stats/check.hpp"
#include "ffn/stats/random.hpp"

namespace ffn::stats {
namespace {

// Relative to Σ|d|. Two orders above the rounding error of up to kRefresh running additions (each half an ulp),
// and far below any difference between distinct sums that could matter.
constexpr double kSumTolerance = 1e-12;
constexpr double kRankTolerance = 1e-10;
constexpr std::uint64_t kRefresh = 64;

/// Σ ±d_i, minus where the bit of `pattern` is set; for at most kMaxExactSeeds values.
double signed_sum(const std::vector<double>& d, std::uint64_t pattern) {
  double sum = 0.0;
  for (std::size_t i = 0; i < d.size(); ++i) sum += ((pattern >> i) & 1u) != 0 ? -d[i] : d[i];
  return sum;
}

/// Share of all sign patterns with |sum| ≥ threshold. In Gray-code order neighbours differ in one sign, so that a
/// pattern costs one addition. The last sign stays fixed: the other half are the same sums negated.
double enumerate(const std::vector<double>& d, double threshold) {
  const std::uint64_t num_patterns = std::uint64_t{1} << (d.size() - 1);
  double sum = signed_sum(d, 0);
  std::uint64_t hits = std::abs(sum) >= threshold ? 1 : 0;
  for (std::uint64_t k = 1; k < num_patterns; ++k) {
    const std::uint64_t pattern = k ^ (k >> 1);
    if (k % kRefresh == 0) {
      sum = signed_sum(d, pattern);  // afresh, or rounding errors would add up
    } else {
      std::size_t flipped = 0;  // the lowest set bit of k
      while (((k >> flipped) & 1u) == 0) ++flipped;
      sum += ((pattern >> flipped) & 1u) != 0 ? -2.0 * d[flipped] : 2.0 * d[flipped];
    }
    if (std::abs(sum) >= threshold) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(num_patterns);
}

/// (b + 1) / (m + 1): the observed pattern counts as one of the drawn ones.
double simulate(const std::vector<double>& d, double threshold, std::uint64_t seed) {
  constexpr double kSign[] = {1.0, -1.0};  // a table, because a branch on a random bit is mispredicted half the time
  SplitMix64 random(seed);
  std::size_t hits = 0;
  for (std::size_t flip = 0; flip < kMonteCarloFlips; ++flip) {
    double sum = 0.0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < d.size(); ++i, bits >>= 1) {
      if (i % 64 == 0) bits = random.next();
      sum += kSign[bits & 1u] * d[i];
    }
    if (std::abs(sum) >= threshold) ++hits;
  }
  return static_cast<double>(hits + 1) / static_cast<double>(kMonteCarloFlips + 1);
}

}  // namespace

SignFlipTest sign_flip_test(const std::vector<double>& differences, std::uint64_t seed) {
  detail::check_sample("sign-flip test", differences);
  double sum = 0.0, scale = 0.0;
  for (const double d : differences) {
    sum += d;
    scale += std::abs(d);
  }
  const double threshold = std::abs(sum) - kSumTolerance * scale;
  if (differences.size() <= kMaxExactSeeds) return {enumerate(differences, threshold), true};
  return {simulate(differences, threshold, seed), false};
}

std::vector<double> signed_midranks(const std::vector<double>& differences) {
  const std::size_t n = differences.size();
  for (std::size_t i = 0; i < n; ++i)
    if (std::isnan(differences[i])) detail::fail("signed ranks need numbers, difference ", i, " is nan");
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto magnitude = [&](std::size_t i) { return std::abs(differences[order[i]]); };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return std::abs(differences[a]) < std::abs(differences[b]); });

  std::vector<double> ranks(n);
  for (std::size_t first = 0, past = 0; first < n; first = past) {
    past = first + 1;
    while (past < n && magnitude(past) * (1.0 - kRankTolerance) <= magnitude(past - 1)) ++past;
    const double midrank = static_cast<double>(first + 1 + past) / 2.0;  // mean of first + 1 … past
    for (std::size_t i = first; i < past; ++i) {
      const double d = differences[order[i]];
      ranks[order[i]] = d > 0.0 ? midrank : d < 0.0 ? -midrank : 0.0;
    }
  }
  return ranks;
}

SignFlipTest signed_rank_test(const std::vector<double>& differences, std::uint64_t seed) {
  return sign_flip_test(signed_midranks(differences), seed);
}

double smallest_sign_flip_p(std::size_t num_seeds) {
  if (num_seeds == 0) detail::fail("smallest p: needs at least 1 seed, got 0");
  if (num_seeds > kMaxExactSeeds) return 1.0 / static_cast<double>(kMonteCarloFlips + 1);
  return std::ldexp(2.0, -static_cast<int>(num_seeds));
}

static constexpr double kResolution = 1.0 / static_cast<double>(kMonteCarloFlips + 1);

std::size_t most_comparisons(double alpha) {
  auto most = static_cast<std::size_t>(alpha / kResolution) + 1;
  while (most > 0 && alpha / static_cast<double>(most) <= kResolution) --most;
  return most;
}

std::size_t seeds_for_any_verdict(double alpha, std::size_t comparisons) {
  detail::check_between("alpha", alpha, 0.0, 1.0);
  if (comparisons == 0) detail::fail("comparisons (0) must be positive");
  const double share = alpha / static_cast<double>(comparisons);
  if (share <= kResolution)
    detail::fail("alpha (", alpha, ") over ", comparisons, " comparisons is ", share, " each; the test for many seeds resolves p to ",
                 kResolution);
  std::size_t num_seeds = 1;
  while (smallest_sign_flip_p(num_seeds) >= share) ++num_seeds;
  return num_seeds;
}

}  // namespace ffn::stats
