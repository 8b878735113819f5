// Which paths cross at which interim analysis.
#include "ffn/stats/interim_analyses.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "ffn/stats/distributions.hpp"
#include "ffn/stats/flips.hpp"
#include "ffn/stats/permutation.hpp"

namespace ffn::stats::detail {
namespace {

/// The terms to flip: the differences, or their signed ranks without zeros.
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

struct AssignmentStatistic {
  double value;
  std::uint32_t path;
};

/// The statistics of all paths at one interim analysis.
class Statistics {
 public:
  Statistics(const std::vector<double>& terms, const std::vector<std::uint64_t>& words, std::size_t words_per_path, Side side)
      : observed_(std::accumulate(terms.begin(), terms.end(), 0.0)), values_(words.size() / words_per_path) {
    double scale = 0.0;
    for (const double term : terms) scale += std::abs(term);
    tolerance_ = kSumTolerance * scale;
    const SubsetSums flipped(terms);
    for (std::size_t path = 0; path < values_.size(); ++path) {
      const double sum = observed_ - 2.0 * flipped(&words[path * words_per_path]);
      values_[path] = side == Side::both ? std::abs(sum) : sum;
    }
  }

  double observed() const { return observed_; }
  double tolerance() const { return tolerance_; }

  /// The paths with the `num` largest values and all that tie with the last of them, in descending order.
  std::vector<AssignmentStatistic> largest(std::size_t num) const {
    double least = -kInfinity;
    if (num < values_.size()) {
      std::vector<double> values = values_;
      const auto place = values.begin() + static_cast<std::ptrdiff_t>(num);
      std::nth_element(values.begin(), place, values.end(), std::greater<>());
      least = *place - tolerance_;
    }
    std::vector<AssignmentStatistic> top;
    for (std::size_t path = 0; path < values_.size(); ++path)
      if (values_[path] >= least) top.push_back({values_[path], static_cast<std::uint32_t>(path)});
    std::sort(top.begin(), top.end(), [](const AssignmentStatistic& a, const AssignmentStatistic& b) { return a.value > b.value; });
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
  std::optional<double> cross(const std::vector<AssignmentStatistic>& descending, double tolerance, std::size_t allowed) {
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

std::size_t whole_paths(std::size_t num_paths, double share) {
  constexpr double kRounding = 1e-9;  // of ln(1 + e − 1) and the like
  return static_cast<std::size_t>(static_cast<double>(num_paths) * share + kRounding);
}

}  // namespace

Flips::Flips(const SignPaths& paths, std::size_t n) : words_per_path(num_words(n)), num_paths(paths.size()), words(paths.words(n)) {}

SignPaths paths_of(const SequentialDesign& design) { return design.paths.value_or(SignPaths::for_maximum(design.maxima.front())); }

std::vector<std::vector<InterimAnalysis>> run_interim_analyses(const std::vector<double>& differences,
                                                               const std::vector<std::size_t>& sample_sizes,
                                                               const std::vector<Spent>& spent, const Flips& flips, Side side,
                                                               const TestRule& rule, Until until) {
  std::vector<std::vector<InterimAnalysis>> result(spent.size());
  std::vector<Level> levels(spent.size(), Level(flips.num_paths));
  for (const std::size_t n : sample_sizes) {
    if (n > differences.size()) break;
    const std::vector<double> so_far(differences.begin(), differences.begin() + static_cast<std::ptrdiff_t>(n));
    const PairedTest test = rule(so_far);
    const Statistics statistics(flipped_terms(so_far, test), flips.words, flips.words_per_path, side);
    std::size_t most = 0;
    for (std::size_t l = 0; l < levels.size(); ++l)
      most = std::max(most, std::max(whole_paths(flips.num_paths, spent[l](n)), levels[l].num_crossed()));
    // Paths that crossed before may rank above those that may cross now.
    const std::vector<AssignmentStatistic> top = statistics.largest(2 * most + 1);
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

std::size_t crossing(const std::vector<InterimAnalysis>& analyses) {
  for (const InterimAnalysis& analysis : analyses)
    if (analysis.observed_crosses) return analysis.num_seeds;
  return kNever;
}

}  // namespace ffn::stats::detail
