// What the parts of a comparison are called and shown by, wherever a person sees them: sentence, table or picture.
#pragma once

#include <optional>
#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/ranking.hpp"
#include "ffn/compare/shown_names.hpp"

namespace ffn {

/// What the effect of a pair is shown by, in the metric's units or, of ratios, as their logarithm: of what its test judges, so that
/// interval and verdict agree.
struct Effect {
  double size, low, high;
  bool low_open = false, high_open = false;                                              ///< the limit itself is outside
  bool empty() const { return low > high || (low == high && (low_open || high_open)); }  ///< the test rejects every value
};
std::optional<Effect> effect_of(const PairResult& pair);

/// Some variant's interval spans more than a factor of 1.5: numbers then get two digits each, and intervals their limits, not a ±.
bool has_wide_centres(const Comparison& comparison);

/// Of ratios, compare.min_effect as it is tested: "factor of 1.4".
std::string margin_as_factor(const Comparison& comparison);

}  // namespace ffn
