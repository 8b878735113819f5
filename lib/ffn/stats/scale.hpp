// The scale of a comparison, chosen by a rule that does not depend on which side wins.
//
// Given the sizes of the paired differences their signs are fair coins under the null hypothesis, so a scale that is chosen from the
// sizes alone, and stays the same when a pair's labels are swapped, leaves every sign-flip and signed-rank test exact.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

enum class MetricKind {
  minimised,      ///< a loss or an error
  maximised,      ///< an accuracy
  time_to_target  ///< steps, tokens, seconds; no value: never
};

/// The ratio of the largest |d| to the median one (zeros left out) above which ranks are used. Normal differences of up to 20 seeds
/// exceed it in ≤ 0.1 % of studies, differences of two lognormals in ≤ 2 %, and losses of which each fifth run is 100 times
/// larger in 57–99 %; there a test of means has a power of 0.06 where ranks have 0.24.
constexpr double kHeavyTail = 15.0;

/// signed_rank if a difference is not finite or the ratio of kHeavyTail is exceeded, otherwise sign_flip_of_mean.
PairedTest tail_rule(const std::vector<double>& differences);

/// A rule that is asked for all differences so far; it must not look at their signs.
using TestRule = std::function<PairedTest(const std::vector<double>& differences)>;

/// Always ranks for times, otherwise tail_rule.
TestRule test_rule(MetricKind kind);

/// Log ratios for a minimised metric whose values are all positive, otherwise raw differences. A comparison asks it once, of all its runs.
PairedValues choose_values(MetricKind kind, const std::vector<Outcome>& runs);

/// "1 of 6 runs has no value", as a reason for ranks.
std::string missing_text(std::size_t missing, std::size_t runs);

/// On values that are chosen: ranks for times, where a run has no value, and where tail_rule says so of the differences on that scale;
/// otherwise the mean. Means ask who has fewer disasters, ranks who is better on a typical seed. Throws if the lengths differ or are 0.
Scale choose_test(MetricKind kind, PairedValues values, const std::vector<Outcome>& variant, const std::vector<Outcome>& reference);

/// The differences in favour of the variant, ln reference − ln variant for log ratios: positive is better, ±∞ if one side has no
/// value, NaN if neither has. e^−d is then the ratio variant / reference. Throws if the lengths differ.
std::vector<double> advantages(MetricKind kind, PairedValues values, const std::vector<Outcome>& variant,
                               const std::vector<Outcome>& reference);

/// Bad runs: more than kBadRun times the median of both sides together, or without a value.
struct BadRuns {
  std::size_t variant, reference;            ///< bad runs of each side
  std::size_t only_variant, only_reference;  ///< seeds at which one side alone is bad
  double limit;                              ///< ∞ if half of the values are not positive: then only a missing one is bad
  double p;                                  ///< McNemar's exact test, a side fact: no part of any family
};

constexpr double kBadRun = 10.0;

/// Counts bad runs of a minimised metric. Throws if the lengths differ or are 0.
BadRuns bad_runs(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference);

/// Two-sided exact McNemar test (1947): min(1, 2 P(X ≤ min(b, c))), X binomial(b + c, 1/2). 1 without discordant pairs.
double mcnemar_p(std::size_t b, std::size_t c);

}  // namespace ffn::stats
