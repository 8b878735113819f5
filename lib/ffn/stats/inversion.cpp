// Intervals that invert a test.
#include "ffn/stats/inversion.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/permutation.hpp"

namespace ffn::stats {
namespace {

using detail::kInfinity;

/// k-th smallest, k from 1.
double smallest(std::vector<double>& values, std::size_t k) {
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// The smallest θ at which r or more subsets, the empty one included, have Σ_A (d − θ) ≤ 0. Neither the search nor rounding
/// crosses 0, where the test itself has been asked.
double lower_limit(const std::vector<double>& d, std::uint64_t r) {
  double size = 0.0, outside = *std::min_element(d.begin(), d.end()), inside = *std::max_element(d.begin(), d.end());
  for (const double value : d) size = std::max(size, std::abs(value));
  const auto holds = [&](double theta) {
    std::vector<double> shifted = d;
    double scale = 0.0;
    for (double& value : shifted) {
      value -= theta;
      scale += std::abs(value);
    }
    return detail::count_subsets_below(shifted, detail::kSumTolerance * scale / 2.0) >= r;
  };
  if (outside == inside) return outside;
  outside -= inside - outside;  // below all values nothing but the empty subset counts
  if (outside < 0.0 && inside > 0.0) (holds(0.0) ? inside : outside) = 0.0;
  constexpr double kPrecision = 1e-12;
  while (inside - outside > kPrecision * size) {
    const double middle = outside + (inside - outside) / 2.0;
    if (middle <= outside || middle >= inside) break;
    (holds(middle) ? inside : outside) = middle;
  }
  return inside;
}

/// p(θ) = (subsets that count) / 2^(n − 1).
Interval exact_interval(const std::vector<double>& d, double alpha) {
  const std::size_t r = detail::most_below(alpha, std::size_t{1} << (d.size() - 1));
  if (r == 0) return unbounded_interval(1.0 - alpha);
  std::vector<double> mirrored = d;
  for (double& value : mirrored) value = -value;
  return {lower_limit(d, r + 1), -lower_limit(mirrored, r + 1), 1.0 - alpha};
}

/// A pattern counts for θ below the mean iff the smaller of the two means that it splits the sample into is ≤ θ.
Interval monte_carlo_interval(const std::vector<double>& d, double tolerance, double alpha, std::uint64_t seed) {
  const std::size_t r = detail::most_below(alpha, kMonteCarloFlips + 1);  // p = (patterns that count + 1) / (drawn + 1)
  if (r == 0) return unbounded_interval(1.0 - alpha);
  const detail::SubsetSums flipped(d);
  const std::vector<std::uint64_t> all(detail::num_words(d.size()), ~std::uint64_t{0});
  const double total = flipped(all.data());
  std::vector<double> low, high;
  low.reserve(kMonteCarloFlips);
  high.reserve(kMonteCarloFlips);
  const auto mean_of = [&](double sum, std::size_t num) { return std::abs(sum) <= tolerance ? 0.0 : sum / static_cast<double>(num); };
  detail::for_each_random_flip(d.size(), kMonteCarloFlips, seed, [&](const std::uint64_t* words) {
    const double sum = flipped(words);
    const std::size_t num = detail::num_set(words, all.size());
    const bool one_side = num == 0 || num == d.size();  // the observed pattern or its mirror image counts for every θ
    const double a = one_side ? -kInfinity : mean_of(sum, num), b = one_side ? kInfinity : mean_of(total - sum, d.size() - num);
    low.push_back(std::min(a, b));
    high.push_back(std::max(a, b));
  });
  return {smallest(low, r), smallest(high, kMonteCarloFlips + 1 - r), 1.0 - alpha};
}

// ---- signed ranks

/// Beyond this many pairs the counts of the exact distribution are no longer whole numbers in a double, and it becomes slow.
constexpr std::size_t kMaxExactRanks = 50;
/// Beyond this many, and beyond so many pieces, they are searched by bisection: a lone piece outside of the stretch of accepted ones
/// would be missed. Ties, which make lone pieces, make few.
constexpr std::size_t kMaxScannedRanks = 25, kMaxScannedPieces = 200;
/// Exact two-sided p: of the 2^n sums of ±rank, the share as far from 0 as the observed one. Mid-ranks are halves, so twice
/// a rank is whole, and the subsets with a given sum are counted one rank after the other.
double exact_rank_p(const std::vector<double>& ranks) {
  std::size_t most = 0;
  long observed = 0;
  std::vector<double> subsets(ranks.size() * (ranks.size() + 1) + 1, 0.0);  // index: sum of doubled ranks
  subsets[0] = 1.0;
  double num_patterns = 1.0;
  for (const double rank : ranks) {
    const long doubled = std::lround(2.0 * rank);
    if (doubled == 0) continue;
    const auto size = static_cast<std::size_t>(std::abs(doubled));
    observed += doubled;
    for (std::size_t sum = most + 1; sum-- > 0;) subsets[sum + size] += subsets[sum];
    most += size;
    num_patterns *= 2.0;
  }
  if (observed == 0) return 1.0;
  double tail = 0.0;
  for (std::size_t sum = 0; 2 * sum <= most - static_cast<std::size_t>(std::abs(observed)); ++sum) tail += subsets[sum];
  return 2.0 * tail / num_patterns;
}

double normal_rank_p(const std::vector<double>& ranks) {
  double sum = 0.0, squares = 0.0;
  for (const double rank : ranks) {
    sum += rank;
    squares += rank * rank;
  }
  if (std::abs(sum) <= 1.0) return 1.0;
  return std::erfc((std::abs(sum) - 1.0) / std::sqrt(2.0 * squares));
}

/// Signed ranks of d − θ; NaN stays a tie.
std::vector<double> shifted_ranks(const std::vector<double>& d, double theta) {
  std::vector<double> shifted = detail::less(d, theta);
  for (double& value : shifted)
    if (std::isnan(value)) value = 0.0;
  return signed_midranks(shifted);
}

std::vector<double> distinct_finite(const std::vector<double>& ascending) {
  std::vector<double> distinct;
  double largest = 0.0;
  for (const double value : ascending)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (const double value : ascending) {
    if (!std::isfinite(value)) continue;
    if (distinct.empty() || value - distinct.back() > detail::kSameAverage * largest) distinct.push_back(value);
  }
  return distinct;
}

/// The line cut at the averages: piece 2k is the stretch below average k, piece 2k + 1 the average itself.
class Pieces {
 public:
  explicit Pieces(std::vector<double> at) : at_(std::move(at)) {}
  std::size_t size() const { return 2 * at_.size() + 1; }
  double low(std::size_t piece) const { return piece == 0 ? -kInfinity : at_[(piece - 1) / 2]; }
  double high(std::size_t piece) const { return piece + 1 == size() ? kInfinity : at_[piece / 2]; }

  /// A θ within.
  double inside(std::size_t piece) const {
    if (piece % 2 == 1) return at_[piece / 2];
    if (at_.empty()) return 0.0;
    const double beyond = 1.0 + std::abs(at_.front()) + std::abs(at_.back());
    if (piece == 0) return at_.front() - beyond;
    if (piece + 1 == size()) return at_.back() + beyond;
    return low(piece) / 2.0 + high(piece) / 2.0;
  }

 private:
  std::vector<double> at_;
};

/// The outermost pieces that are accepted; {1, 0} if none is.
template <class Accepted>
std::pair<std::size_t, std::size_t> hull_by_scan(std::size_t size, Accepted accepted) {
  std::size_t first = 0, last = size - 1;
  while (first < size && !accepted(first)) ++first;
  if (first == size) return {1, 0};
  while (!accepted(last)) --last;
  return {first, last};
}

/// The same for accepted pieces that are one stretch around `centre`, or beside it where differences tie there.
template <class Accepted>
std::pair<std::size_t, std::size_t> hull_by_bisection(std::size_t size, std::size_t centre, Accepted accepted) {
  if (!accepted(centre)) {
    if (centre + 1 < size && accepted(centre + 1)) ++centre;
    else if (centre > 0 && accepted(centre - 1)) --centre;
    else return {1, 0};
  }
  const auto edge = [&](std::size_t out, std::size_t in) {  // the accepted piece farthest from `in`, where `out` may be, too
    if (accepted(out)) return out;
    while (std::max(in, out) - std::min(in, out) > 1) {
      const std::size_t middle = std::min(in, out) + (std::max(in, out) - std::min(in, out)) / 2;
      (accepted(middle) ? in : out) = middle;
    }
    return in;
  };
  return {edge(0, centre), edge(size - 1, centre)};
}

/// From the outermost accepted pieces. Beyond an accepted stretch lies an average that the test rejects: an open limit.
Interval hull(const Pieces& pieces, std::size_t first, std::size_t last, double level) {
  const auto open = [&](std::size_t piece, double limit) { return piece % 2 == 0 && std::isfinite(limit); };
  return {pieces.low(first), pieces.high(last), level, open(first, pieces.low(first)), open(last, pieces.high(last))};
}

}  // namespace

Interval sign_flip_interval(const std::vector<double>& differences, double alpha, std::uint64_t seed) {
  detail::check_sample("sign-flip interval", differences);
  detail::check_between("alpha", alpha, 0.0, 1.0);
  if (differences.size() <= kMaxExactSeeds) return exact_interval(differences, alpha);
  double scale = 0.0;
  for (const double d : differences) scale += std::abs(d);
  const double tolerance = detail::kSumTolerance * scale / 2.0;  // Σ ±d = Σ d − 2 Σ_A d
  return monte_carlo_interval(differences, tolerance, alpha, seed);
}

TypicalDifference typical_difference(const std::vector<double>& differences, double p, double alpha) {
  detail::check_between("alpha", alpha, 0.0, 1.0);
  std::vector<double> informative;
  for (const double d : differences)
    if (!std::isnan(d)) informative.push_back(d);
  if (informative.empty()) detail::fail("typical difference: no pair has a value");
  const std::vector<double> averages = detail::pair_averages(informative);
  // +∞ and −∞ in equal numbers may leave nothing else.
  const double value = averages.empty() ? 0.0 : sorted_quantile(averages, 0.5);

  const std::vector<double> breaks = distinct_finite(averages);
  const Pieces pieces(breaks);
  const bool exact = differences.size() <= kMaxExactRanks;
  const bool scan = differences.size() <= kMaxScannedRanks || pieces.size() <= kMaxScannedPieces;
  const auto accepted = [&](std::size_t piece) {
    const std::vector<double> ranks = shifted_ranks(differences, pieces.inside(piece));
    return !((exact ? exact_rank_p(ranks) : normal_rank_p(ranks)) < alpha);
  };
  const auto centre = static_cast<std::size_t>(std::lower_bound(breaks.begin(), breaks.end(), value) - breaks.begin());
  const auto [first, last] = scan ? hull_by_scan(pieces.size(), accepted)
                                  : hull_by_bisection(pieces.size(), std::min(2 * centre + 1, pieces.size() - 1), accepted);
  const Interval interval = first <= last ? hull(pieces, first, last, 1.0 - alpha) : empty_interval(value, 1.0 - alpha);
  if (interval.empty() && p < alpha) return {value, interval};
  double rank_sum = 0.0;
  for (const double rank : shifted_ranks(differences, 0.0)) rank_sum += rank;
  return {value, detail::agreeing(interval, rank_sum > 0.0, p < alpha)};
}

std::vector<double> detail::pair_averages(const std::vector<double>& d) {
  std::vector<double> averages;
  for (std::size_t i = 0; i < d.size(); ++i)
    for (std::size_t j = i; j < d.size(); ++j) {
      const double average = d[i] == d[j] ? d[i] : d[i] / 2.0 + d[j] / 2.0;
      if (!std::isnan(average)) averages.push_back(average);
    }
  std::sort(averages.begin(), averages.end());
  return averages;
}

Interval detail::agreeing(Interval interval, bool above, bool rejected) {
  if (rejected && !interval.excludes(0.0)) {
    (above ? interval.low : interval.high) = 0.0;
    (above ? interval.low_open : interval.high_open) = true;
  }
  if (!rejected && interval.low >= 0.0) {
    interval.low = 0.0;
    interval.low_open = false;
  }
  if (!rejected && interval.high <= 0.0) {
    interval.high = 0.0;
    interval.high_open = false;
  }
  return interval;
}

}  // namespace ffn::stats
