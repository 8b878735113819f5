// compare.over: values of a key, such as texts, as a sample that is crossed with the seeds.
#pragma once

#include "ffn/compare/compare.hpp"
#include "ffn/compare/outcomes.hpp"

namespace ffn {

/// One run per seed in place of the runs with each value of `over`: its metric is their mean, geometric if `as_ratios`, which is that of
/// the log ratios. Pending until all of them are over; without a value if one has none. Throws UsageError if `over` cannot be pooled.
std::vector<FoundRun> pooled_over(const std::vector<FoundRun>& runs, const std::string& over, const std::string& by, const Metric& metric,
                                  bool as_ratios);

/// The effect of a pair over seeds and values, from FoundRun::parts; nothing where a value is missing or there are too few.
std::optional<stats::CrossedMean> crossed_effect(const std::vector<const FoundRun*>& variant, const std::vector<const FoundRun*>& reference,
                                                 double level);

/// The population of a pooled comparison's verdicts, and the intervals that cover other values, too.
void note_crossed(Comparison& comparison);

}  // namespace ffn
