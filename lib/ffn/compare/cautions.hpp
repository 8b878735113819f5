// Limits of a verdict: means of skewed differences, variants that sometimes fail, one learning rate for all layers.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Runs of one side that failed: diverged, failed, never got to the target, or are bad runs of a loss.
struct Failures {
  std::size_t failed = 0, runs = 0;
  /// A tenth or more.
  bool often() const { return failed > 0 && 10 * failed >= runs; }
};

Failures failures_of_variant(const PairResult& pair);
Failures failures_of_reference(const PairResult& pair);
/// For one value of `by`, over all facets.
Failures failures_of(const Comparison& comparison, const std::string& value);

/// A verdict that rests on the mean of skewed differences.
bool rests_on_skewed_mean(const PairResult& pair);
void note_skewed(Comparison& comparison);

/// Bits per parameter have next to no noise, so a test finds differences that are those of sizes alone. Takes verdicts back where both
/// layers know all facts, or a difference is below what sizes that were matched leave; and says so.
void withhold_exact_verdicts(const std::vector<FoundRun>& runs, Comparison& comparison);

/// The learning rate that all runs have, or all of a size of a ladder, "0.03 to 0.02 by d_model", where what is compared differs in its
/// layer; otherwise empty. `size` is the ladder's key, or empty.
std::string rate_of_untuned(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, const std::string& by,
                            const std::string& size);

}  // namespace ffn
