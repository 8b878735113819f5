// Compares two samples of runs that no seed pairs.
//
// The null hypothesis is that the labels of all runs could be dealt out anew. Signs and missing values are as in paired.hpp.
#pragma once

#include <cstddef>
#include <vector>

#include "ffn/stats/paired.hpp"

namespace ffn::stats {

/// Up to this many splits of the runs into two groups (and 64 runs) are enumerated: 12 and 12 runs have 2,704,156.
constexpr double kMaxExactSplits = 3e6;
/// Up to this many runs of both sides together ranks have their exact distribution; beyond, its normal approximation with ties.
constexpr std::size_t kMaxExactRankSum = 100;

/// Two-sided permutation test of the difference of means (Fisher 1935; Pitman 1937): the share of splits whose |difference| reaches the
/// observed one; where there are too many splits, (b + 1) / (m + 1) of kMonteCarloFlips random ones. The interval holds the θ that the
/// test of variant − θ does not reject: each split fails to reject within one interval about the observed difference, so the limits are
/// order statistics of those intervals' ends. By ranks, where a run has no value, the pooled runs have a heavy tail (kHeavyTail, of
/// distances from their median), or `ranks` asks: the rank-sum test with mid-ranks (Mann & Whitney 1947), the Hodges–Lehmann difference,
/// and the interval between ordered differences (Moses 1953), as without ties. Of `log_ratio`, values are positive.
///
/// In the result num_seeds is the smaller side's number of runs; wins and losses are 0, and ties are all or none;
/// improvement.paired is that over all pairs of runs, with no interval computed: (0, 1). Throws if a side is empty.
PairedResult compare_unpaired(const std::vector<Outcome>& variant, const std::vector<Outcome>& reference, Direction direction,
                              PairedValues values, bool ranks, const CompareOptions& options = {});

/// Welch's t test of equal means (1947), two-sided; 1 without spread and difference. Throws if a side has fewer than 2 values.
double welch_p(const std::vector<double>& variant, const std::vector<double>& reference);

/// The smallest p that a test of this many runs can give.
double smallest_split_p(std::size_t num_variant, std::size_t num_reference);

/// As seeds_for_any_verdict(), runs on each of two equal sides: 4 for one comparison at 0.05. Throws as that does.
std::size_t runs_for_any_verdict(double alpha, std::size_t comparisons = 1);

/// Power of the two-sided t test of n runs a side, whose means differ by `effect` standard deviations of a run. Throws as paired_power().
double unpaired_power(double effect, std::size_t num_runs, double alpha);

}  // namespace ffn::stats
