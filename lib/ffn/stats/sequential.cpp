// Sequential designs.
#include "ffn/stats/sequential.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/interim_analyses.hpp"
#include "ffn/stats/permutation.hpp"

namespace ffn::stats {
namespace {

using detail::crossing;
using detail::Flips;
using detail::paths_of;
using detail::run_interim_analyses;
using detail::Spent;
using detail::Until;

void check_maxima(const std::vector<std::size_t>& maxima) {
  if (maxima.empty()) detail::fail("a sequential design needs a maximum number of seeds");
  if (maxima.front() < kFirstSampleSize) detail::fail("maximum (", maxima.front(), ") must be at least ", kFirstSampleSize, " seeds");
  for (std::size_t i = 1; i < maxima.size(); ++i)
    if (maxima[i] <= maxima[i - 1]) detail::fail("maximum ", maxima[i], " does not exceed the one before, ", maxima[i - 1]);
}

/// When the claims of one comparison were flagged at α/1, α/2, …
struct Flags {
  std::size_t num_analysed = 0;
  std::vector<std::size_t> different, negligible;  // negligible empty: not claimed
  bool positive = false;

  bool open(std::size_t s, std::size_t n) const { return different[s] > n || (!negligible.empty() && negligible[s] > n); }
};

Flags flags_of(const std::vector<double>& d, const std::vector<std::size_t>& sample_sizes, const std::vector<Spent>& spent,
               const Flips& flips, const SequentialDesign& design) {
  Flags flags;
  for (const std::size_t n : sample_sizes)
    if (n <= d.size()) flags.num_analysed = n;
  const auto different = run_interim_analyses(d, sample_sizes, spent, flips, Side::both, design.rule);
  for (const auto& level : different) flags.different.push_back(crossing(level));
  for (const InterimAnalysis& analysis : different.front())
    if (analysis.num_seeds <= flags.different.front()) flags.positive = analysis.observed > 0.0;
  if (design.min_effect == 0.0) return flags;
  const auto above =
      run_interim_analyses(detail::within_margin(d, design.min_effect, 1.0), sample_sizes, spent, flips, Side::upper, design.rule);
  const auto below =
      run_interim_analyses(detail::within_margin(d, design.min_effect, -1.0), sample_sizes, spent, flips, Side::upper, design.rule);
  for (std::size_t s = 0; s < spent.size(); ++s) flags.negligible.push_back(std::max(crossing(above[s]), crossing(below[s])));
  return flags;
}

}  // namespace

std::vector<std::size_t> interim_sample_sizes(const std::vector<std::size_t>& maxima) {
  check_maxima(maxima);
  std::vector<std::size_t> sample_sizes = maxima;
  for (std::size_t n = kFirstSampleSize; n <= maxima.back(); n *= 2)
    for (const std::size_t size : {n, n + n / 2})
      if (size < maxima.back()) sample_sizes.push_back(size);
  std::sort(sample_sizes.begin(), sample_sizes.end());
  sample_sizes.erase(std::unique(sample_sizes.begin(), sample_sizes.end()), sample_sizes.end());
  return sample_sizes;
}

std::optional<std::size_t> next_sample_size(const std::vector<std::size_t>& maxima, std::size_t num_seeds) {
  for (const std::size_t size : interim_sample_sizes(maxima))
    if (size > num_seeds) return size;
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

std::vector<InterimAnalysis> sequential_test(const std::vector<double>& differences, const std::vector<std::size_t>& sample_sizes,
                                             const Spent& spent, const SignPaths& paths, Side side, const TestRule& rule) {
  const Flips flips(paths, std::max<std::size_t>(1, differences.size()));
  return run_interim_analyses(differences, sample_sizes, {spent}, flips, side, rule, Until::end).front();
}

std::vector<SequentialVerdict> judge_sequentially(const std::vector<std::vector<double>>& comparisons, const SequentialDesign& design) {
  const std::vector<std::size_t> sample_sizes = interim_sample_sizes(design.maxima);
  detail::check_between("alpha", design.alpha, 0.0, 1.0);
  if (!(design.min_effect >= 0.0 && std::isfinite(design.min_effect)))
    detail::fail("min_effect (", design.min_effect, ") must be finite and not negative");
  const std::size_t m = std::max(design.comparisons, comparisons.size());
  std::vector<Spent> spent;
  for (std::size_t s = 1; s <= m; ++s)
    spent.push_back([&design, s](std::size_t n) { return spent_alpha(design.alpha / static_cast<double>(s), n, design.maxima.front()); });

  std::size_t longest = kFirstSampleSize;
  for (const auto& d : comparisons) longest = std::max(longest, std::min(d.size(), design.maxima.back()));
  const Flips flips(paths_of(design), longest);
  std::vector<Flags> flags;
  for (const auto& d : comparisons) flags.push_back(flags_of(d, sample_sizes, spent, flips, design));

  std::vector<SequentialVerdict> verdicts;
  for (const Flags& f : flags)
    verdicts.push_back({f.num_analysed == 0 ? Verdict::too_few_seeds : Verdict::undecided, f.num_analysed, {}, {}});
  for (const std::size_t n : sample_sizes) {
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

std::vector<InterimAnalysis> interim_analyses(const std::vector<double>& differences, const SequentialDesign& design) {
  const auto sample_sizes = interim_sample_sizes(design.maxima);
  if (differences.size() < sample_sizes.front()) return {};
  const double level = design.alpha / static_cast<double>(std::max<std::size_t>(1, design.comparisons));
  const Spent spent = [&](std::size_t n) { return spent_alpha(level, n, design.maxima.front()); };
  return sequential_test(differences, sample_sizes, spent, paths_of(design), Side::both, design.rule);
}

std::size_t first_possible_verdict(const SequentialDesign& design) {
  const auto sample_sizes = interim_sample_sizes(design.maxima);
  const double share = design.alpha / static_cast<double>(std::max<std::size_t>(1, design.comparisons));
  for (const std::size_t n : sample_sizes)
    if (spent_alpha(share, n, design.maxima.front()) >= std::ldexp(2.0, -static_cast<int>(std::min<std::size_t>(n, 1000)))) return n;
  return sample_sizes.back();
}

}  // namespace ffn::stats
