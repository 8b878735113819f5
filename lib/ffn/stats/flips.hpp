// Sign patterns as bits, and the sums that they give.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ffn/stats/random.hpp"

namespace ffn::stats::detail {

// Relative to Σ|d|: two orders above the rounding error of the sums here, and far below any difference between distinct
// sums that could matter. Sums that agree within it are ties blurred by rounding.
constexpr double kSumTolerance = 1e-12;

inline std::size_t num_words(std::size_t num_values) { return (num_values + 63) / 64; }

/// Σ d_i over the set bits of a pattern, one table look-up for every 8 values.
class SubsetSums {
 public:
  explicit SubsetSums(const std::vector<double>& d) : tables_((d.size() + 7) / 8) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      tables_[t][0] = 0.0;
      for (std::size_t byte = 1; byte < 256; ++byte) {
        std::size_t highest = 7;
        while ((byte >> highest) == 0) --highest;
        const std::size_t i = 8 * t + highest;
        tables_[t][byte] = tables_[t][byte ^ (std::size_t{1} << highest)] + (i < d.size() ? d[i] : 0.0);
      }
    }
  }

  double operator()(const std::uint64_t* words) const {
    double sum = 0.0;
    for (std::size_t t = 0; t < tables_.size(); ++t) sum += tables_[t][(words[t / 8] >> (8 * (t % 8))) & 255u];
    return sum;
  }

 private:
  std::vector<std::array<double, 256>> tables_;
};

/// Number of subsets A, the empty one included, with Σ_A d ≤ limit: the sums of either half of the values in order, then one walk
/// through both, O(2^{n/2}) (Horowitz & Sahni 1974).
inline std::uint64_t count_subsets_below(const std::vector<double>& d, double limit) {
  const auto ordered_sums = [&](std::size_t first, std::size_t last) {
    std::vector<double> sums{0.0}, shifted, merged;
    for (std::size_t i = first; i < last; ++i) {
      shifted.clear();
      for (const double sum : sums) shifted.push_back(sum + d[i]);
      merged.resize(2 * sums.size());
      std::merge(sums.begin(), sums.end(), shifted.begin(), shifted.end(), merged.begin());
      sums.swap(merged);
    }
    return sums;
  };
  const std::vector<double> a = ordered_sums(0, d.size() / 2), b = ordered_sums(d.size() / 2, d.size());
  std::uint64_t count = 0;
  std::size_t within = b.size();
  for (const double sum : a) {
    while (within > 0 && sum + b[within - 1] > limit) --within;
    count += within;
  }
  return count;
}

inline std::size_t num_set(const std::uint64_t* words, std::size_t num) {
  std::size_t set = 0;
  for (std::size_t w = 0; w < num; ++w) set += std::bitset<64>(words[w]).count();
  return set;
}

/// Calls f(words) for `num_flips` random patterns of n bits; bits beyond n are 0.
template <class F>
void for_each_random_flip(std::size_t n, std::size_t num_flips, std::uint64_t seed, F f) {
  SplitMix64 random(seed);
  std::vector<std::uint64_t> words(num_words(n));
  const std::uint64_t last = n % 64 == 0 ? ~std::uint64_t{0} : (std::uint64_t{1} << (n % 64)) - 1;
  for (std::size_t flip = 0; flip < num_flips; ++flip) {
    for (std::uint64_t& word : words) word = random.next();
    words.back() &= last;
    f(words.data());
  }
}

/// Averages of two differences that are closer than this, relative to the largest |d|, are one average blurred by rounding.
constexpr double kSameAverage = 1e-12;

/// d − θ, 0 where they are the same but for rounding; d itself for θ = 0.
inline std::vector<double> less(std::vector<double> d, double theta) {
  if (theta == 0.0) return d;
  double largest = 0.0;
  for (const double value : d)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (double& value : d) value = std::abs(value - theta) <= kSameAverage * largest ? 0.0 : value - theta;
  return d;
}

/// By how much d lies above −margin (sign 1) or below the margin (sign −1), 0 where it is there but for rounding.
inline std::vector<double> within_margin(const std::vector<double>& d, double margin, double sign) {
  auto out = less(d, -sign * margin);
  for (double& value : out) value *= sign;
  return out;
}

/// The largest count with count / total < alpha, the fractions rounded as p values are.
inline std::size_t most_below(double alpha, std::size_t total) {
  const auto fraction = [&](std::size_t count) { return static_cast<double>(count) / static_cast<double>(total); };
  auto count = static_cast<std::size_t>(alpha * static_cast<double>(total));
  while (count > 0 && !(fraction(count) < alpha)) --count;
  while (fraction(count + 1) < alpha) ++count;
  return count;
}

}  // namespace ffn::stats::detail
