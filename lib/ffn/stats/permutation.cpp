// Paired permutation tests.
#include "ffn/stats/permutation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/stats/check.hpp"
#include "ffn/stats/flips.hpp"

namespace ffn::stats {
namespace {

constexpr double kRankTolerance = 1e-10;

enum class Tail { both, upper };

double total_of(const std::vector<double>& d) { return std::accumulate(d.begin(), d.end(), 0.0); }

/// Flipping the subset A leaves Σ d − 2 Σ_A d, which reaches Σ d iff Σ_A d ≤ 0. As many patterns reach −Σ d.
double enumerate(std::vector<double> d, double tolerance, Tail tail) {
  const double total = total_of(d);
  if (tail == Tail::both) {
    if (std::abs(total) <= tolerance) return 1.0;
    if (total < 0.0)
      for (double& value : d) value = -value;
  }
  const auto num_patterns = static_cast<double>(std::uint64_t{1} << d.size());
  return static_cast<double>((tail == Tail::both ? 2 : 1) * detail::count_subsets_below(d, tolerance / 2.0)) / num_patterns;
}

/// (b + 1) / (m + 1): the observed pattern counts as one of the drawn ones.
double simulate(const std::vector<double>& d, double tolerance, Tail tail, std::uint64_t seed) {
  const double total = total_of(d), threshold = (tail == Tail::both ? std::abs(total) : total) - tolerance;
  const detail::SubsetSums flipped(d);
  std::size_t hits = 0;
  detail::for_each_random_flip(d.size(), kMonteCarloFlips, seed, [&](const std::uint64_t* words) {
    const double sum = total - 2.0 * flipped(words);
    if ((tail == Tail::both ? std::abs(sum) : sum) >= threshold) ++hits;
  });
  return static_cast<double>(hits + 1) / static_cast<double>(kMonteCarloFlips + 1);
}

SignFlipTest test(const std::vector<double>& d, Tail tail, std::uint64_t seed) {
  detail::check_sample("sign-flip test", d);
  double scale = 0.0;
  for (const double value : d) scale += std::abs(value);
  const double tolerance = detail::kSumTolerance * scale;
  if (d.size() <= kMaxExactSeeds) return {enumerate(d, tolerance, tail), true};
  return {simulate(d, tolerance, tail, seed), false};
}

}  // namespace

SignFlipTest sign_flip_test(const std::vector<double>& differences, std::uint64_t seed) { return test(differences, Tail::both, seed); }

SignFlipTest one_sided_sign_flip_test(const std::vector<double>& differences, std::uint64_t seed) {
  return test(differences, Tail::upper, seed);
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
