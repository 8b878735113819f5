// A comparison in plain words, for a person who knows no statistics.
#pragma once

#include <optional>
#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Who leads and by how much, then what of that is sure: one or two sentences on one line, such as
/// "relu gets there first at every expansion: 28 steps on average; gelu 33, silu 44. Sure: silu is worse than relu at every
/// expansion, by 14 to 17 steps. Not sure: gelu at expansion 1 and 2." Empty without anything to compare.
std::string answer_text(const Comparison& comparison);

/// What the effect of a pair is shown by, in the metric's units or, of ratios, as their logarithm: of what its test judges, so that
/// interval and verdict agree.
struct Effect {
  double size, low, high;
  bool low_open = false, high_open = false;  ///< the limit itself is outside
  bool empty() const { return low > high || (low == high && (low_open || high_open)); }  ///< the test rejects every value
};
std::optional<Effect> effect_of(const PairResult& pair);

/// "relu", "expansion 4, lr 0.01": the last part of a dotted key; what makes a facet.
std::string last_segment(const std::string& key);
std::string facet_title(const Facet& facet);

/// A value of `by` as people are shown it. Variants that all name the same keys are told apart by the values:
/// "kind=gated+activation=silu" is "gated silu".
std::string shown_value(const Comparison& comparison, const std::string& value);

/// What a group is shown by: Comparison::shown; none where no run has a value.
std::optional<double> shown_centre(const GroupResult& group);

/// Some variant's interval spans more than a factor of 1.5: numbers then get two digits each, and intervals their limits, not a ±.
bool has_wide_centres(const Comparison& comparison);

/// Of ratios, compare.min_effect as it is tested: "factor of 1.4".
std::string margin_as_factor(const Comparison& comparison);

bool is_time_metric(const std::string& metric);

}  // namespace ffn
