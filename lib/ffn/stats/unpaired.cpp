#include "ffn/stats/unpaired.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/stats/scale.hpp"

namespace ffn::stats {
namespace {

using detail::kInfinity;

double num_splits(std::size_t n, std::size_t m) {
  double splits = 1.0;
  for (std::size_t i = 1; i <= std::min(n, m); ++i) splits = splits * static_cast<double>(n + m + 1 - i) / static_cast<double>(i);
  return std::round(splits);
}

bool is_enumerated(std::size_t n, std::size_t m) { return n + m <= 64 && num_splits(n, m) <= kMaxExactSplits; }

double deviation(const std::vector<double>& x) { return x.size() > 1 ? standard_deviation(x) : 0.0; }

struct Sides {
  std::vector<double> variant, reference;
  double n() const { return static_cast<double>(variant.size()); }
  double m() const { return static_cast<double>(reference.size()); }
};

/// A split's difference of means if the variant's runs are shifted by −θ: at_zero − θ slope. The observed one has slope 1.
struct Split {
  double at_zero, slope;
};

/// The observed split first, then all, or random ones.
std::vector<Split> splits_of(const Sides& sides, std::uint64_t seed) {
  std::vector<double> pooled = sides.variant;
  pooled.insert(pooled.end(), sides.reference.begin(), sides.reference.end());
  const double centre = mean(pooled);
  for (double& x : pooled) x -= centre;
  const double all = std::accumulate(pooled.begin(), pooled.end(), 0.0), each = 1.0 / sides.n() + 1.0 / sides.m();
  const auto split = [&](double sum, std::size_t of_variant) {
    return Split{sum * each - all / sides.m(), static_cast<double>(of_variant) * each - sides.n() / sides.m()};
  };
  const std::size_t n = sides.variant.size(), total = pooled.size();
  std::vector<Split> splits{split(std::accumulate(pooled.begin(), pooled.begin() + static_cast<std::ptrdiff_t>(n), 0.0), n)};
  if (is_enumerated(n, total - n)) {
    const detail::SubsetSums sum(pooled);
    const std::uint64_t ones = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    const auto count = static_cast<std::size_t>(num_splits(n, total - n));
    splits.reserve(count);
    for (std::uint64_t chosen = ones; splits.size() < count;) {  // the next number with as many bits: Gosper, HAKMEM 175
      const std::uint64_t lowest = chosen & (~chosen + 1), carried = chosen + lowest;
      chosen = carried | (((chosen ^ carried) >> 2) / lowest);
      const std::uint64_t ours = chosen & ones;
      splits.push_back(split(sum(&chosen), detail::num_set(&ours, 1)));
    }
    return splits;
  }
  SplitMix64 random(seed);
  std::vector<std::size_t> order(total);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t draw = 0; draw < kMonteCarloFlips; ++draw) {
    double sum = 0.0;
    std::size_t of_variant = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::swap(order[i], order[i + random.index(total - i)]);
      sum += pooled[order[i]];
      of_variant += order[i] < n;
    }
    splits.push_back(split(sum, of_variant));
  }
  return splits;
}

double share(const std::vector<Split>& splits, const std::function<bool(const Split&)>& holds) {
  return static_cast<double>(std::count_if(splits.begin(), splits.end(), holds)) / static_cast<double>(splits.size());
}

/// |at_zero − θ slope| ≥ |observed − θ| holds for θ between two numbers, the observed difference among them: the two at which both sides
/// are equal, as |slope| ≤ 1. The interval is where the share of splits that hold is alpha or more.
Interval interval_of(const std::vector<Split>& splits, double alpha) {
  const double observed = splits[0].at_zero;
  std::vector<double> low, high;
  for (const auto& [a, b] : splits) {
    const double up = b < 1.0 - 1e-9 ? (observed - a) / (1.0 - b) : kInfinity,
                 down = b > -1.0 + 1e-9 ? (observed + a) / (1.0 + b) : kInfinity;
    const bool always = std::isinf(up) || std::isinf(down);  // the observed split, and where sides are exchanged as a whole
    low.push_back(always ? -kInfinity : std::min(up, down));
    high.push_back(always ? kInfinity : std::max(up, down));
  }
  const auto rejected = static_cast<std::ptrdiff_t>(detail::most_below(alpha, splits.size()));
  std::nth_element(low.begin(), low.begin() + rejected, low.end());
  std::nth_element(high.begin(), high.begin() + rejected, high.end(), std::greater<>());
  return {low[static_cast<std::size_t>(rejected)], high[static_cast<std::size_t>(rejected)], 1.0 - alpha};
}

struct Welch {
  double error, df;  ///< of the difference of means
};

Welch welch_of(const std::vector<double>& variant, const std::vector<double>& reference) {
  const auto n = static_cast<double>(variant.size()), m = static_cast<double>(reference.size());
  const double a = std::pow(standard_deviation(variant), 2) / n, b = std::pow(standard_deviation(reference), 2) / m;
  return {std::sqrt(a + b), (a + b) * (a + b) / (a * a / (n - 1.0) + b * b / (m - 1.0))};
}

/// P of a difference as large as `difference` or larger.
double welch_above(const Welch& welch, double difference) {
  return welch.error > 0.0 ? detail::t_above(welch.df, difference / welch.error) : difference > 0.0 ? 0.0 : difference < 0.0 ? 1.0 : 0.5;
}

/// Permutations assume sides that spread alike: by them alone 5 runs of SD 1 and 12 of SD 0.3 with equal means differ in a fifth of all
/// tables. Where one side has more runs, p is therefore the larger of both tests', and the interval holds both; with equal numbers they
/// agree.
void heed_spreads(const Sides& sides, const CompareOptions& options, PairedResult& out) {
  if (sides.variant.size() == sides.reference.size() || out.num_seeds < 2) return;
  const Welch welch = welch_of(sides.variant, sides.reference);
  const double observed = out.effect->value;
  out.p = std::max(out.p, std::min(1.0, 2.0 * welch_above(welch, std::abs(observed))));
  const double half = welch.error > 0.0 ? detail::critical_t(welch.df, options.alpha / 2.0) * welch.error : 0.0;
  auto& interval = out.effect->interval;
  if (observed - half < interval.low) interval.low = observed - half, interval.low_open = false;
  if (observed + half > interval.high) interval.high = observed + half, interval.high_open = false;
  if (options.min_effect > 0.0)
    out.p_equivalence = std::max(
        {*out.p_equivalence, welch_above(welch, options.min_effect - observed), welch_above(welch, options.min_effect + observed)});
}

void test_means(const Sides& sides, const CompareOptions& options, PairedResult& out) {
  const auto splits = splits_of(sides, options.seed);
  const double observed = splits[0].at_zero;
  double size = 0.0;
  for (const auto* side : {&sides.variant, &sides.reference})
    for (const double x : *side) size = std::max(size, std::abs(x - sides.reference[0]));
  const double tolerance = 4 * detail::kSumTolerance * size;
  out.p = share(splits, [&](const Split& s) { return std::abs(s.at_zero) >= std::abs(observed) - tolerance; });
  const double sd = std::hypot(deviation(sides.variant), deviation(sides.reference));
  auto interval = detail::agreeing(interval_of(splits, options.alpha), observed > 0.0, out.p < options.alpha);
  out.effect = Effect{Estimand::mean_difference, mean(sides.variant) - mean(sides.reference), interval, sd};
  out.standardised_effect = std::abs(observed) <= tolerance ? 0.0 : observed / sd;  // ±∞ without spread
  if (options.min_effect > 0.0) {
    const auto above = [&](double theta, double sign) {  // as far from θ as observed, on its side
      return share(splits, [&](const Split& s) { return sign * (s.at_zero - theta * s.slope - (observed - theta)) >= -tolerance; });
    };
    out.p_equivalence = std::max(above(-options.min_effect, 1.0), above(options.min_effect, -1.0));
  }
  heed_spreads(sides, options, out);
}

/// Mid-ranks of the pooled runs, the variant's first and less by θ, doubled so that they are whole. Values that are the same but for the
/// rounding of that difference tie.
std::vector<std::size_t> doubled_midranks(const Sides& sides, double theta) {
  std::vector<double> pooled = sides.variant;
  for (double& x : pooled) x -= theta;
  pooled.insert(pooled.end(), sides.reference.begin(), sides.reference.end());
  double rounding = 0.0;
  for (const double x : pooled)
    if (theta != 0.0 && std::isfinite(x)) rounding = std::max(rounding, detail::kSameAverage * std::abs(x));
  auto sorted = pooled;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::size_t> ranks;
  for (const double x : pooled) {
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), x - rounding),
               last = std::upper_bound(sorted.begin(), sorted.end(), x + rounding);
    ranks.push_back(static_cast<std::size_t>((first - sorted.begin()) + (last - sorted.begin()) + 1));
  }
  return ranks;
}

/// How many choices of n of the ranks have each sum.
std::vector<double> rank_sum_ways(const std::vector<std::size_t>& ranks, std::size_t n) {
  const std::size_t all = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(all + 1, 0.0));
  ways[0][0] = 1.0;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (std::size_t k = std::min(i + 1, n); k > 0; --k)
      for (std::size_t sum = all; sum >= ranks[i]; --sum) ways[k][sum] += ways[k - 1][sum - ranks[i]];
  return ways[n];
}

/// P(rank sum ≥ that of the first n), and P(… ≤ …).
std::pair<double, double> rank_sum_tails(const std::vector<std::size_t>& ranks, std::size_t n) {
  const std::size_t total = ranks.size(), all = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  const std::size_t observed = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n), std::size_t{0});
  if (total > kMaxExactRankSum) {
    const double count = static_cast<double>(total), centre = static_cast<double>(n * all) / count;
    double squares = 0.0;
    for (const std::size_t rank : ranks) squares += std::pow(static_cast<double>(rank) - static_cast<double>(all) / count, 2);
    const double sd = std::sqrt(static_cast<double>(n) * (count - static_cast<double>(n)) / (count * (count - 1)) * squares);
    if (!(sd > 0.0)) return {1.0, 1.0};
    const double above = (static_cast<double>(observed) - centre) / sd, half = 1.0 / sd;  // one half, of doubled ranks
    return {detail::normal_cdf(half - above), detail::normal_cdf(above + half)};
  }
  const auto ways = rank_sum_ways(ranks, n);
  double at_most = 0.0, at_least = 0.0, splits = 0.0;
  for (std::size_t sum = 0; sum <= all; ++sum) {
    splits += ways[sum];
    if (sum <= observed) at_most += ways[sum];
    if (sum >= observed) at_least += ways[sum];
  }
  return {at_least / splits, at_most / splits};
}

/// How many of the n·m differences may lie beyond a limit: those for which the test without ties rejects.
std::size_t critical_differences(std::size_t n, std::size_t m, double alpha) {
  std::vector<std::size_t> ranks(n + m);
  if (n + m > kMaxExactRankSum) {
    const double pairs = static_cast<double>(n * m), sd = std::sqrt(pairs * static_cast<double>(n + m + 1) / 12.0);
    return static_cast<std::size_t>(std::max(0.0, pairs / 2.0 + detail::normal_quantile(alpha / 2.0) * sd + 0.5));
  }
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  const auto ways = rank_sum_ways(ranks, n);
  const double splits = num_splits(n, m);
  double below = 0.0;
  std::size_t count = 0;  // of differences below the limit: the rank sum above its smallest
  for (const std::size_t least = n * (n + 1) / 2; count <= n * m && 2.0 * (below + ways[least + count]) / splits < alpha; ++count)
    below += ways[least + count];
  return count;
}

void test_ranks(const Sides& sides, const CompareOptions& options, PairedResult& out) {
  const std::size_t n = sides.variant.size();
  const auto ranks = doubled_midranks(sides, 0.0);
  const auto [at_least, at_most] = rank_sum_tails(ranks, n);
  out.p = std::min(1.0, 2.0 * std::min(at_least, at_most));
  out.exact_p = ranks.size() <= kMaxExactRankSum;
  if (options.min_effect > 0.0)
    out.p_equivalence = std::max(rank_sum_tails(doubled_midranks(sides, -options.min_effect), n).first,
                                 rank_sum_tails(doubled_midranks(sides, options.min_effect), n).second);
  std::vector<double> differences;
  for (const double v : sides.variant)
    for (const double r : sides.reference)
      if (std::isfinite(v) || std::isfinite(r)) differences.push_back(v - r);
  if (differences.empty()) return;
  // ∞ − ∞ is as likely below as above everything: half of them are, and one that is left is where it widens the interval.
  const std::size_t undefined = out.missing_variant * out.missing_reference, odd = undefined % 2;
  for (std::size_t i = 0; i < undefined - odd; ++i) differences.push_back(i % 2 == 0 ? -kInfinity : kInfinity);
  std::sort(differences.begin(), differences.end());
  const auto middle = differences.size() / 2;
  const double upper = differences[middle], lower = differences[differences.size() - 1 - middle];
  const double value = upper == lower ? upper : upper / 2.0 + lower / 2.0;
  const std::size_t beyond = critical_differences(n, sides.reference.size(), options.alpha);
  Interval interval{-kInfinity, kInfinity, 1.0 - options.alpha};
  if (beyond > odd) interval = {differences[beyond - odd - 1], differences[differences.size() - (beyond - odd)], 1.0 - options.alpha};
  out.effect = Effect{Estimand::typical_difference, std::isnan(value) ? 0.0 : value,
                      detail::agreeing(interval, at_least < at_most, out.p < options.alpha)};
  // The rank sum's distance from its centre, as that of a mean of as many pairs.
  const double z = out.p >= 1.0 ? 0.0 : -detail::normal_quantile(std::max(out.p, 1e-300) / 2.0);
  out.standardised_effect = (at_least < at_most ? z : -z) / std::sqrt(static_cast<double>(out.num_seeds));
}

bool has_heavy_tail(const Sides& sides) {
  std::vector<double> distances = sides.variant;
  distances.insert(distances.end(), sides.reference.begin(), sides.reference.end());
  const double centre = median(distances);
  for (double& x : distances) x = x - centre;
  return tail_rule(distances) == PairedTest::signed_rank;
}

std::vector<double> numbers(const std::vector<Outcome>& runs, Direction direction, PairedValues values) {
  std::vector<double> out;
  for (const auto& run : runs)
    out.push_back(!has_value(run)                     ? (direction == Direction::lower_is_better ? kInfinity : -kInfinity)
                  : values == PairedValues::log_ratio ? std::log(*run)
                                                      : *run);
  return out;
}

double share_of_wins(const Sides& sides, double favour) {
  double wins = 0.0;
  for (const double v : sides.variant)
    for (const double r : sides.reference) wins += v == r ? 0.5 : favour * v > favour * r ? 1.0 : 0.0;
  return wins / (sides.n() * sides.m());
}

}  // namespace

PairedResult compare_unpaired(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference, Direction direction,
                              PairedValues values, bool ranks, const CompareOptions& options) {
  if (variant.empty() || reference.empty()) detail::fail("nothing to compare: ", variant.size(), " and ", reference.size(), " runs");
  const Sides sides{numbers(variant, direction, values), numbers(reference, direction, values)};
  const double favour = direction == Direction::higher_is_better ? 1.0 : -1.0;
  const auto missing = [](const std::vector<double>& x) {
    return static_cast<std::size_t>(std::count_if(x.begin(), x.end(), [](double value) { return std::isinf(value); }));
  };
  PairedResult out{};
  out.direction = direction;
  out.options = options;
  out.num_seeds = std::min(variant.size(), reference.size());
  out.missing_variant = missing(sides.variant);
  out.missing_reference = missing(sides.reference);
  out.values = values;
  out.unpaired = UnpairedRuns{variant.size(), reference.size(), std::nullopt};
  out.smallest_p = smallest_split_p(variant.size(), reference.size());
  const double wins = share_of_wins(sides, favour);
  out.improvement = {wins, {0.0, 1.0, 1.0 - options.alpha}, wins};
  const bool complete = out.missing_variant + out.missing_reference == 0;
  const auto is_first = [&](double x) { return x == sides.reference[0]; };
  if (complete && std::all_of(sides.variant.begin(), sides.variant.end(), is_first) &&
      std::all_of(sides.reference.begin(), sides.reference.end(), is_first))
    out.ties = out.num_seeds;
  if (ranks || !complete || has_heavy_tail(sides)) {
    out.test = PairedTest::rank_sum;
    out.test_reason =
        !complete ? "rank sums, because " + missing_text(out.missing_variant + out.missing_reference, variant.size() + reference.size())
        : ranks   ? "rank sums, as asked"
                  : "rank sums, because of a heavy tail";
    test_ranks(sides, options, out);
  } else {
    out.test = PairedTest::permutation_of_means;
    out.test_reason = "permutations of the mean, because seeds do not pair these runs";
    out.exact_p = is_enumerated(variant.size(), reference.size());
    test_means(sides, options, out);
  }
  out.standardised_effect *= favour;
  if (complete) {
    const Sides raw{numbers(variant, direction, PairedValues::difference), numbers(reference, direction, PairedValues::difference)};
    out.difference = MeanDifference{mean(raw.variant) - mean(raw.reference), std::hypot(deviation(raw.variant), deviation(raw.reference)),
                                    out.test == PairedTest::permutation_of_means && values == PairedValues::difference
                                        ? std::optional(out.effect->interval)
                                        : std::nullopt};
    if (out.num_seeds > 1) out.unpaired->welch_p = welch_p(sides.variant, sides.reference);
  }
  return out;
}

double welch_p(const std::vector<double>& variant, const std::vector<double>& reference) {
  return std::min(1.0, 2.0 * welch_above(welch_of(variant, reference), std::abs(mean(variant) - mean(reference))));
}

double smallest_split_p(std::size_t num_variant, std::size_t num_reference) {
  const double exact = (num_variant == num_reference ? 2.0 : 1.0) / num_splits(num_variant, num_reference);
  return is_enumerated(num_variant, num_reference) ? std::min(1.0, exact) : 1.0 / static_cast<double>(kMonteCarloFlips + 1);
}

std::size_t runs_for_any_verdict(double alpha, std::size_t comparisons) {
  seeds_for_any_verdict(alpha, comparisons);  // checks both
  std::size_t runs = 1;
  while (!(static_cast<double>(comparisons) * smallest_split_p(runs, runs) < alpha)) ++runs;
  return runs;
}

double unpaired_power(double effect, std::size_t num_runs, double alpha) {
  if (num_runs < 2) detail::fail("power needs at least 2 runs, got ", num_runs);
  detail::check_between("alpha", alpha, 0.0, 1.0);
  if (std::isnan(effect)) detail::fail("effect is nan");
  const double n = static_cast<double>(num_runs), noncentrality = std::abs(effect) * std::sqrt(n / 2.0), df = 2.0 * n - 2.0;
  constexpr double kSure = 1e2;  // far beyond any critical value at which Boost's series would matter
  const double t = detail::critical_t(df, alpha / 2.0);
  if (noncentrality > kSure * std::max(1.0, t)) return 1.0;
  return detail::noncentral_t_above(df, noncentrality, t) + detail::noncentral_t_above(df, -noncentrality, t);
}

}  // namespace ffn::stats
