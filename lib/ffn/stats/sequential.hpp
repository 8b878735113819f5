// Sequential designs: interim analyses of a study that adds seeds, with one error rate over all of them.
//
// A difference is here in favour of the variant: positive is better. It is ±∞ where one side alone has no value, NaN where neither has.
// Everything is a function of the differences in the order of their seeds, the declared maxima and the interim analyses: restarts, workers
// and repeated questions change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ffn/stats/paired.hpp"
#include "ffn/stats/scale.hpp"
#include "ffn/stats/verdict.hpp"

namespace ffn::stats {

/// Seeds of the first interim analysis.
constexpr std::size_t kFirstSampleSize = 8;

/// 8, 12, 16, 24, 32, 48, 64, 96, … up to the last maximum, and every declared maximum, ascending. Throws if a maximum is below
/// kFirstSampleSize or they do not ascend, or if there is none.
std::vector<std::size_t> interim_sample_sizes(const std::vector<std::size_t>& maxima);

/// Seeds of the first interim analysis above `num_seeds`; nullopt at the last maximum.
std::optional<std::size_t> next_sample_size(const std::vector<std::size_t>& maxima, std::size_t num_seeds);

/// Cumulative error that may be spent by n seeds: 0.9 α ln(1 + (e − 1) n/M) up to M, the first declared maximum, for ever
/// (Lan & DeMets 1983, Pocock-like), and α (1 − 0.1 M/n) beyond, so that a study may go on after M and keep α.
double spent_alpha(double alpha, std::size_t num_seeds, std::size_t first_maximum);

/// The patterns of sign flips that a test compares the observed one, path 0 without flips, with. Bit i of a path flips seed i.
class SignPaths {
 public:
  /// All 2^n, n ≤ kMaxExactSeeds. Bits beyond n come from the hash.
  static SignPaths all(std::size_t n);

  /// The observed path and `others`: word w (64 seeds) of path p is number w of SplitMix64(SplitMix64(key).next() + p), so that a
  /// restart draws the same ones.
  static SignPaths drawn(std::size_t others = kMonteCarloPaths, std::uint64_t key = 0);

  /// The paths of a study with this first maximum: all(M) for M ≤ kMaxExactSeeds, otherwise drawn().
  static SignPaths for_maximum(std::size_t first_maximum);

  std::size_t size() const { return size_; }

  /// The first num_words(n) words of every path, one path after the other.
  std::vector<std::uint64_t> words(std::size_t n) const;

  static constexpr std::size_t kMonteCarloPaths = 99'999;

 private:
  SignPaths(std::size_t size, std::size_t enumerated, std::uint64_t key) : size_(size), enumerated_(enumerated), key_(key) {}
  std::size_t size_, enumerated_;
  std::uint64_t key_;
};

/// One interim analysis of one group-sequential test.
struct InterimAnalysis {
  std::size_t num_seeds;
  PairedTest test;
  std::size_t allowed;              ///< paths that may have crossed by now
  std::size_t crossed;              ///< paths that have
  std::optional<double> threshold;  ///< the smallest statistic that crosses here; nullopt: none
  double observed;                  ///< Σ d or Σ ±rank; two-sided its size is the statistic
  bool observed_crosses;            ///< here, for the first time
};

/// A family of comparisons with interim analyses.
struct SequentialDesign {
  double alpha = 0.05;              ///< for the whole family over all interim analyses
  double min_effect = 0.0;          ///< on the scale of the differences; 0: no claim of equivalence
  std::vector<std::size_t> maxima;  ///< the first, and those to which it was raised later
  std::size_t comparisons = 1;      ///< m, if it exceeds the number of comparisons
  TestRule rule = tail_rule;
  std::optional<SignPaths> paths;  ///< nullopt: SignPaths::for_maximum of the first maximum; simulations draw fewer
};

enum class Side { both, upper };

/// Group-sequential sign-flip test by joint permutation of all interim analyses (Plamadeala & Rosenberger 2012; Mathieu et al. 2023,
/// AdaStop, arXiv:2306.10882): at every number of seeds in `sample_sizes` up to the number of differences the paths that have not crossed
/// are added from the largest statistic down, whole groups of ties only, while the share that crossed stays within `spent(n)`. A group that
/// does not fit waits, and its share is kept. All paths are treated alike, so the chance that the observed one crosses under the null is at
/// most the share that ever does, for every n, number of paths and pattern of ties. Ranks drop zeros (the fixed test ranks them,
/// signed_midranks) and are computed anew each time.
std::vector<InterimAnalysis> sequential_test(const std::vector<double>& differences, const std::vector<std::size_t>& sample_sizes,
                                             const std::function<double(std::size_t)>& spent, const SignPaths& paths,
                                             Side side = Side::both, const TestRule& rule = tail_rule);

/// The design's verdict on one comparison.
struct SequentialVerdict {
  Verdict verdict;           ///< better, worse, no_meaningful_difference or undecided; too_few_seeds before the first interim analysis
  std::size_t num_analysed;  ///< seeds of the last interim analysis
  std::optional<std::size_t> different, negligible;  ///< seeds at which the claim stood first
};

/// Verdicts of all comparisons by closed testing (verdict.hpp): for every s ≤ m the tests are run at alpha/s; a claim stands when for
/// every s it has crossed or fewer than s comparisons have a claim that has not. "No meaningful difference" needs
/// both one-sided tests, of d + min_effect and min_effect − d. A comparison is analysed as far as its differences go: the
/// caller ends them before the first seed that is not finished. A claim that has stood once stands later.
/// The chance of any wrong claim over all interim analyses and comparisons is at most alpha where differences are symmetric about their
/// centre; with equal means but skewed differences (centred lognormal) 18–20 % of M = 50 … 200 end with a verdict. Throws as
/// interim_sample_sizes does, if alpha is outside (0, 1) or min_effect is negative.
std::vector<SequentialVerdict> judge_sequentially(const std::vector<std::vector<double>>& comparisons, const SequentialDesign& design);

/// One comparison's test of a difference at alpha / m, where its claim stands whatever the others are: every interim analysis so far.
std::vector<InterimAnalysis> interim_analyses(const std::vector<double>& differences, const SequentialDesign& design);

/// Seeds of the first interim analysis at which the smallest claim of all comparisons, all seeds on one side, can stand; the last if none.
std::size_t first_possible_verdict(const SequentialDesign& design);

/// All θ for which the two-sided test of d − θ at level alpha has not crossed by the last interim analysis, one comparison by itself; (−∞,
/// ∞) where nothing can cross yet. By bisection, the same paths throughout, outwards from what the rule's test is of: the mean, to 1e-4 of
/// the range, or by ranks the Hodges–Lehmann estimate, to the average of two differences at which the ranks change. The test is asked at
/// that average, too: where it crosses the limit is open. If the estimate itself has crossed earlier, it is both limits; where it is
/// infinite, one side alone having values, so is a limit. 0 is outside exactly when the test of d crosses. design.comparisons is not used.
Interval sequential_interval(const std::vector<double>& differences, const SequentialDesign& design);

}  // namespace ffn::stats
