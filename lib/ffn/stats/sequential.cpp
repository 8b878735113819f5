// Seeds until settled. Depends on the rest of ffn/stats only.
#include "ffn/stats/sequential.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/permutation.hpp"

namespace ffn::stats {
namespace {

using detail::kInfinity;

void check(const std::vector<std::size_t>& maxima) {
  if (maxima.empty()) detail::fail("looks need a maximum number of seeds");
  if (maxima.front() < kFirstLook) detail::fail("maximum (", maxima.front(), ") must be at least ", kFirstLook, " seeds");
  for (std::size_t i = 1; i < maxima.size(); ++i)
    if (maxima[i] <= maxima[i - 1]) detail::fail("maximum ", maxima[i], " does not exceed the one before, ", maxima[i - 1]);
}

/// What is flipped: the differences, or their signed ranks without zeros.
std::vector<double> flipped_terms(const std::vector<double>& d, PairedTest test) {
  std::vector<double> all(d.size(), 0.0), nonzero;
  for (std::size_t i = 0; i < d.size(); ++i)
    if (!std::isnan(d[i])) all[i] = d[i];
  if (test == PairedTest::sign_flip_of_mean) return all;
  for (const double value : all)
    if (value != 0.0) nonzero.push_back(value);
  const std::vector<double> ranks = signed_midranks(nonzero);
  auto rank = ranks.begin();
  for (double& value : all)
    if (value != 0.0) value = *rank++;
  return all;
}

struct Statistic {
  double value;
  std::uint32_t path;
};

/// The statistics of all paths at one look.
class Statistics {
 public:
  Statistics(const std::vector<double>& terms, const std::vector<std::uint64_t>& words, std::size_t words_per_path, Side side)
      : observed_(std::accumulate(terms.begin(), terms.end(), 0.0)), values_(words.size() / words_per_path) {
    double scale = 0.0;
    for (const double term : terms) scale += std::abs(term);
    tolerance_ = detail::kSumTolerance * scale;
    const detail::SubsetSums flipped(terms);
    for (std::size_t path = 0; path < values_.size(); ++path) {
      const double sum = observed_ - 2.0 * flipped(&words[path * words_per_path]);
      values_[path] = side == Side::both ? std::abs(sum) : sum;
    }
  }

  double observed() const { return observed_; }
  double tolerance() const { return tolerance_; }

  /// The paths with the `num` largest values and all that tie with the last of them, in descending order.
  std::vector<Statistic> largest(std::size_t num) const {
    double least = -kInfinity;
    if (num < values_.size()) {
      std::vector<double> values = values_;
      const auto place = values.begin() + static_cast<std::ptrdiff_t>(num);
      std::nth_element(values.begin(), place, values.end(), std::greater<>());
      least = *place - tolerance_;
    }
    std::vector<Statistic> top;
    for (std::size_t path = 0; path < values_.size(); ++path)
      if (values_[path] >= least) top.push_back({values_[path], static_cast<std::uint32_t>(path)});
    std::sort(top.begin(), top.end(), [](const Statistic& a, const Statistic& b) { return a.value > b.value; });
    return top;
  }

 private:
  double observed_, tolerance_ = 0.0;
  std::vector<double> values_;
};

/// The paths that have crossed at one level.
class Level {
 public:
  explicit Level(std::size_t num_paths) : crossed_(num_paths, 0) {}

  std::size_t num_crossed() const { return num_crossed_; }
  bool observed_crossed() const { return crossed_[0] != 0; }

  /// Crosses whole groups of ties from the top, as long as no more than `allowed` paths have crossed in all. Returns the smallest
  /// statistic that crossed now.
  std::optional<double> cross(const std::vector<Statistic>& descending, double tolerance, std::size_t allowed) {
    std::optional<double> threshold;
    for (std::size_t first = 0, past = 0; first < descending.size(); first = past) {
      std::size_t fresh = 0;
      for (past = first; past == first || (past < descending.size() && descending[past].value >= descending[past - 1].value - tolerance);
           ++past)
        fresh += crossed_[descending[past].path] == 0;
      if (num_crossed_ + fresh > allowed) break;
      for (std::size_t i = first; i < past; ++i) crossed_[descending[i].path] = 1;
      num_crossed_ += fresh;
      if (fresh > 0) threshold = descending[past - 1].value;
    }
    return threshold;
  }

 private:
  std::vector<char> crossed_;
  std::size_t num_crossed_ = 0;
};

/// Flips of all paths for differences of any number up to that asked for.
struct Flips {
  std::size_t words_per_path, num_paths;
  std::vector<std::uint64_t> words;
  Flips(const SignPaths& paths, std::size_t n) : words_per_path(detail::num_words(n)), num_paths(paths.size()), words(paths.words(n)) {}
};

SignPaths paths_of(const SequentialDesign& design) { return design.paths.value_or(SignPaths::for_maximum(design.maxima.front())); }

std::size_t whole_paths(std::size_t num_paths, double share) {
  constexpr double kRounding = 1e-9;  // of ln(1 + e − 1) and the like
  return static_cast<std::size_t>(static_cast<double>(num_paths) * share + kRounding);
}

using Spent = std::function<double(std::size_t num_seeds)>;

enum class Until { crossed, end };

/// The test at one or more levels, which share the statistics: the looks of each, to the end or until the observed path has crossed at
/// all levels.
std::vector<std::vector<Look>> run(const std::vector<double>& differences, const std::vector<std::size_t>& looks,
                                   const std::vector<Spent>& spent, const Flips& flips, Side side, const LookRule& rule,
                                   Until until = Until::crossed) {
  std::vector<std::vector<Look>> result(spent.size());
  std::vector<Level> levels(spent.size(), Level(flips.num_paths));
  for (const std::size_t n : looks) {
    if (n > differences.size()) break;
    const std::vector<double> so_far(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(n));
    const PairedTest test = rule(so_far);
    const Statistics statistics(flipped_terms(so_far, test), flips.words, flips.words_per_path, side);
    std::size_t most = 0;
    for (std::size_t l = 0; l < levels.size(); ++l)
      most = std::max(most, std::max(whole_paths(flips.num_paths, spent[l](n)), levels[l].num_crossed()));
    // What has crossed may stand above what may cross now.
    const std::vector<Statistic> top = statistics.largest(2 * most + 1);
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const bool before = levels[l].observed_crossed();
      const std::size_t allowed = whole_paths(flips.num_paths, spent[l](n));
      const auto threshold = levels[l].cross(top, statistics.tolerance(), allowed);
      result[l].push_back(
          {n, test, allowed, levels[l].num_crossed(), threshold, statistics.observed(), !before && levels[l].observed_crossed()});
    }
    if (until == Until::crossed && std::all_of(levels.begin(), levels.end(), [](const Level& level) { return level.observed_crossed(); }))
      break;
  }
  return result;
}

/// Seeds of the look at which the observed path crossed, or never.
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

std::size_t crossing(const std::vector<Look>& looks) {
  for (const Look& look : looks)
    if (look.observed_crosses) return look.num_seeds;
  return kNever;
}

/// When the claims of one comparison were flagged at α/1, α/2, …
struct Flags {
  std::size_t looked_at = 0;
  std::vector<std::size_t> different, negligible;  // negligible empty: not claimed
  bool positive = false;

  bool open(std::size_t s, std::size_t n) const { return different[s] > n || (!negligible.empty() && negligible[s] > n); }
};

std::vector<double> plus_margin(double margin, const std::vector<double>& d, double sign) {
  std::vector<double> shifted;
  for (const double value : d) shifted.push_back(margin + sign * value);
  return shifted;
}

Flags flags_of(const std::vector<double>& d, const std::vector<std::size_t>& looks, const std::vector<Spent>& spent, const Flips& flips,
               const SequentialDesign& design) {
  Flags flags;
  for (const std::size_t n : looks)
    if (n <= d.size()) flags.looked_at = n;
  const auto different = run(d, looks, spent, flips, Side::both, design.rule);
  for (const auto& level : different) flags.different.push_back(crossing(level));
  for (const Look& look : different.front())
    if (look.num_seeds <= flags.different.front()) flags.positive = look.observed > 0.0;
  if (design.min_effect == 0.0) return flags;
  const auto above = run(plus_margin(design.min_effect, d, 1.0), looks, spent, flips, Side::upper, design.rule);
  const auto below = run(plus_margin(design.min_effect, d, -1.0), looks, spent, flips, Side::upper, design.rule);
  for (std::size_t s = 0; s < spent.size(); ++s) flags.negligible.push_back(std::max(crossing(above[s]), crossing(below[s])));
  return flags;
}

/// Where an interval is looked for first, the size of the differences' spread, and where a test by ranks can change its mind: at the
/// averages of all pairs of differences, ascending.
struct Start {
  double centre, reach;
  std::vector<double> averages;
};

Start where_to_begin(const std::vector<double>& d, const std::vector<double>& finite, double range, PairedTest test) {
  const auto spread = [](double x, double centre) { return x > 0.0 ? x : 1.0 + std::abs(centre); };
  if (test == PairedTest::sign_flip_of_mean) return {mean(finite), spread(range, mean(finite)), {}};
  std::vector<double> averages, distances;
  for (std::size_t i = 0; i < d.size(); ++i) {
    for (std::size_t j = i; j < d.size(); ++j) {
      const double average = d[i] == d[j] ? d[i] : d[i] / 2.0 + d[j] / 2.0;
      if (!std::isnan(average)) averages.push_back(average);
    }
  }
  std::sort(averages.begin(), averages.end());
  const double centre = median(averages);
  for (const double x : finite) {
    if (std::isfinite(centre) && x != centre) distances.push_back(std::abs(x - centre));
  }
  const double reach = distances.empty() ? spread(range, 0.0) : median(distances);
  return {centre, reach, std::move(averages)};
}

/// The centre, or the nearest stretch between averages that has not crossed: zeros are dropped from ranks, so that the test may say of
/// the centre what it says of nothing beside it. NaN if there is none.
double first_inside(double centre, const std::vector<double>& averages, const std::function<bool(double)>& crosses) {
  if (!crosses(centre)) return centre;
  constexpr int kStretches = 4;  // on each side
  auto above = std::upper_bound(averages.begin(), averages.end(), centre);
  auto below = std::make_reverse_iterator(std::lower_bound(averages.begin(), averages.end(), centre));
  double last_above = centre, last_below = centre;
  const auto stretch = [&](auto& at, const auto& end, double& last) {
    while (at != end && *at == last) ++at;
    if (at == end || !std::isfinite(*at)) return std::numeric_limits<double>::quiet_NaN();
    const double between = last / 2.0 + *at / 2.0;
    last = *at;
    return between;
  };
  for (int i = 0; i < kStretches; ++i) {
    for (const double theta : {stretch(above, averages.end(), last_above), stretch(below, averages.rend(), last_below)})
      if (!std::isnan(theta) && !crosses(theta)) return theta;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// The centre as both limits, which leaves 0 out or not as the test does.
Interval nothing_inside(double centre, bool crosses_zero, double level) {
  if (!crosses_zero) return {std::min(centre, 0.0), std::max(centre, 0.0), level};
  return empty_interval(centre, level);
}

}  // namespace

std::vector<std::size_t> sequential_looks(const std::vector<std::size_t>& maxima) {
  check(maxima);
  std::vector<std::size_t> looks = maxima;
  for (std::size_t n = kFirstLook; n <= maxima.back(); n *= 2)
    for (const std::size_t look : {n, n + n / 2})
      if (look < maxima.back()) looks.push_back(look);
  std::sort(looks.begin(), looks.end());
  looks.erase(std::unique(looks.begin(), looks.end()), looks.end());
  return looks;
}

std::optional<std::size_t> next_look(const std::vector<std::size_t>& maxima, std::size_t num_seeds) {
  for (const std::size_t look : sequential_looks(maxima))
    if (look > num_seeds) return look;
  return std::nullopt;
}

double spent_alpha(double alpha, std::size_t num_seeds, std::size_t first_maximum) {
  constexpr double kByMaximum = 0.9;
  const double share = static_cast<double>(num_seeds) / static_cast<double>(first_maximum);
  if (num_seeds <= first_maximum) return kByMaximum * alpha * std::log1p(std::expm1(1.0) * share);
  return alpha * (1.0 - (1.0 - kByMaximum) / share);
}

SignPaths SignPaths::all(std::size_t n) {
  if (n > kMaxExactSeeds) detail::fail("all sign patterns of ", n, " seeds are too many; at most ", kMaxExactSeeds);
  return {std::size_t{1} << n, n, 0};
}

SignPaths SignPaths::drawn(std::size_t others, std::uint64_t key) { return {others + 1, 0, key}; }

SignPaths SignPaths::for_maximum(std::size_t first_maximum) { return first_maximum <= kMaxExactSeeds ? all(first_maximum) : drawn(); }

std::vector<std::uint64_t> SignPaths::words(std::size_t n) const {
  const std::size_t per_path = detail::num_words(n);
  const std::uint64_t start = SplitMix64(key_).next();
  const std::uint64_t listed = (std::uint64_t{1} << enumerated_) - 1;  // bits that the path's number gives
  std::vector<std::uint64_t> all(size_ * per_path, 0);
  for (std::size_t path = 1; path < size_; ++path) {
    SplitMix64 random(start + path);
    for (std::size_t w = 0; w < per_path; ++w) all[path * per_path + w] = random.next();
    std::uint64_t& first = all[path * per_path];
    first = (first & ~listed) | (static_cast<std::uint64_t>(path) & listed);
  }
  return all;
}

std::vector<Look> sequential_test(const std::vector<double>& differences, const std::vector<std::size_t>& looks, const Spent& spent,
                                  const SignPaths& paths, Side side, const LookRule& rule) {
  return run(differences, looks, {spent}, Flips(paths, std::max<std::size_t>(1, differences.size())), side, rule, Until::end).front();
}

std::vector<SequentialVerdict> judge_sequentially(const std::vector<std::vector<double>>& comparisons, const SequentialDesign& design) {
  const std::vector<std::size_t> looks = sequential_looks(design.maxima);
  detail::check_between("alpha", design.alpha, 0.0, 1.0);
  if (!(design.min_effect >= 0.0 && std::isfinite(design.min_effect)))
    detail::fail("min_effect (", design.min_effect, ") must be finite and not negative");
  const std::size_t m = std::max(design.comparisons, comparisons.size());
  std::vector<Spent> spent;
  for (std::size_t s = 1; s <= m; ++s)
    spent.push_back([&design, s](std::size_t n) { return spent_alpha(design.alpha / static_cast<double>(s), n, design.maxima.front()); });

  std::size_t longest = kFirstLook;
  for (const auto& d : comparisons) longest = std::max(longest, std::min(d.size(), design.maxima.back()));
  const Flips flips(paths_of(design), longest);
  std::vector<Flags> flags;
  for (const auto& d : comparisons) flags.push_back(flags_of(d, looks, spent, flips, design));

  std::vector<SequentialVerdict> verdicts;
  for (const Flags& f : flags) verdicts.push_back({f.looked_at == 0 ? Verdict::too_few_seeds : Verdict::undecided, f.looked_at, {}, {}});
  for (const std::size_t n : looks) {
    std::vector<std::size_t> open(m, m - flags.size());
    for (std::size_t s = 0; s < m; ++s)
      for (const Flags& f : flags) open[s] += f.open(s, n);
    const auto stands = [&](const std::vector<std::size_t>& flagged) {
      for (std::size_t s = 0; s < m; ++s)
        if (flagged[s] > n && open[s] >= s + 1) return false;
      return true;
    };
    for (std::size_t i = 0; i < flags.size(); ++i) {
      if (!verdicts[i].different && stands(flags[i].different)) verdicts[i].different = n;
      if (!verdicts[i].negligible && !flags[i].negligible.empty() && stands(flags[i].negligible)) verdicts[i].negligible = n;
    }
  }
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (verdicts[i].negligible) verdicts[i].verdict = Verdict::no_meaningful_difference;
    else if (verdicts[i].different) verdicts[i].verdict = flags[i].positive ? Verdict::better : Verdict::worse;
  }
  return verdicts;
}

std::vector<Look> looks_at(const std::vector<double>& differences, const SequentialDesign& design) {
  const auto looks = sequential_looks(design.maxima);
  if (differences.size() < looks.front()) return {};
  const double level = design.alpha / static_cast<double>(std::max<std::size_t>(1, design.comparisons));
  const Spent spent = [&](std::size_t n) { return spent_alpha(level, n, design.maxima.front()); };
  return sequential_test(differences, looks, spent, paths_of(design), Side::both, design.rule);
}

std::size_t first_possible_verdict(const SequentialDesign& design) {
  const auto looks = sequential_looks(design.maxima);
  const double share = design.alpha / static_cast<double>(std::max<std::size_t>(1, design.comparisons));
  for (const std::size_t n : looks)
    if (spent_alpha(share, n, design.maxima.front()) >= std::ldexp(2.0, -static_cast<int>(std::min<std::size_t>(n, 1000)))) return n;
  return looks.back();
}

Interval sequential_interval(const std::vector<double>& differences, const SequentialDesign& design) {
  const std::vector<std::size_t> looks = sequential_looks(design.maxima);
  detail::check_between("alpha", design.alpha, 0.0, 1.0);
  std::vector<double> finite;
  for (const double d : differences)
    if (std::isfinite(d)) finite.push_back(d);
  if (differences.size() < looks.front() || finite.empty()) return unbounded_interval(1.0 - design.alpha);
  const Flips flips(paths_of(design), differences.size());
  const Spent spent = [&](std::size_t n) { return spent_alpha(design.alpha, n, design.maxima.front()); };
  const auto crosses = [&](double theta) {
    std::vector<double> shifted = differences;
    for (double& value : shifted) value -= theta;
    return crossing(run(shifted, looks, {spent}, flips, Side::both, design.rule).front()) != kNever;
  };

  const auto [low, high] = std::minmax_element(finite.begin(), finite.end());
  const double range = *high - *low;
  const auto [centre, reach, averages] = where_to_begin(differences, finite, range, design.rule(differences));
  constexpr double kPrecision = 1e-4, kFar = 1e3;
  const double far = kFar * std::max(range, reach);
  const double middle = first_inside(std::isfinite(centre) ? centre : centre > 0 ? *high + far : *low - far, averages, crosses);
  if (std::isnan(middle)) return nothing_inside(centre, crosses(0.0), 1.0 - design.alpha);
  struct Limit {
    double value;
    bool open;
  };
  const auto limit = [&](double direction) -> Limit {
    if (!std::isfinite(centre) && direction * centre > 0) return {centre, false};
    double step = reach / 8.0, inside = middle, outside = middle + direction * step;
    for (; !crosses(outside); outside = middle + direction * step) {
      if (step > 4 * far) return {direction * kInfinity, false};
      inside = outside;
      step *= 2.0;
    }
    while (std::abs(outside - inside) > kPrecision * reach) {
      const double between = inside + (outside - inside) / 2.0;
      if (between == inside || between == outside) break;
      (crosses(between) ? outside : inside) = between;
    }
    const auto [near, past] = std::minmax(inside, outside);
    const auto average = std::lower_bound(averages.begin(), averages.end(), near);
    if (average == averages.end() || *average > past) return {inside, false};
    return {*average, crosses(*average)};
  };
  const Limit lowest = limit(-1.0), highest = limit(1.0);
  Interval interval{lowest.value, highest.value, 1.0 - design.alpha, lowest.open, highest.open};
  // Zeros are dropped from ranks, so that the test may say of 0 alone what it says of nothing beside it.
  const bool crosses_zero = crosses(0.0);
  if (crosses_zero && !interval.excludes(0.0)) {
    if (middle > 0.0) interval.low = 0.0, interval.low_open = true;
    else interval.high = 0.0, interval.high_open = true;
  }
  if (!crosses_zero && interval.low >= 0.0) interval.low = 0.0, interval.low_open = false;
  if (!crosses_zero && interval.high <= 0.0) interval.high = 0.0, interval.high_open = false;
  return interval;
}

}  // namespace ffn::stats
