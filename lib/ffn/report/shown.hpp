// What the parts of a comparison are called and shown by, wherever a person sees them: sentence, table or picture.
#pragma once

#include <optional>
#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/ranking.hpp"

namespace ffn {

/// What the effect of a pair is shown by, in the metric's units or, of ratios, as their logarithm: of what its test judges, so that
/// interval and verdict agree.
struct Effect {
  double size, low, high;
  bool low_open = false, high_open = false;                                              ///< the limit itself is outside
  bool empty() const { return low > high || (low == high && (low_open || high_open)); }  ///< the test rejects every value
};
std::optional<Effect> effect_of(const PairResult& pair);

/// "relu", "expansion 4, lr 0.01": the last part of a dotted key; what makes a facet, all of it or `without` one key.
std::string last_segment(const std::string& key);
std::string facet_title(const Facet& facet, const std::string& without = {});

/// A value of `by` as people are shown it. Variants that all name the same keys are told apart by the values:
/// "kind=gated+activation=silu" is "gated silu".
std::string shown_value(const Comparison& comparison, const std::string& value);

/// Some variant's interval spans more than a factor of 1.5: numbers then get two digits each, and intervals their limits, not a ±.
bool has_wide_centres(const Comparison& comparison);

/// Of ratios, compare.min_effect as it is tested: "factor of 1.4".
std::string margin_as_factor(const Comparison& comparison);

}  // namespace ffn
