// Single cells of a comparison as people see them in sentences, tables and pictures, and the line above a table.
#pragma once

#include <optional>
#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/ranking.hpp"
#include "ffn/compare/shown_names.hpp"

namespace ffn {

/// The shown effect of a pair, in the metric's units or, for ratios, as their logarithm: of what its test judges, so that
/// interval and verdict agree.
struct Effect {
  double size, low, high;
  bool low_open = false, high_open = false;                                              ///< the limit itself is outside
  bool empty() const { return low > high || (low == high && (low_open || high_open)); }  ///< the test rejects every value
};
std::optional<Effect> effect_of(const PairResult& pair);

/// Some variant's interval spans more than a factor of 1.5: numbers then get two digits each, and intervals their limits, not a ±.
bool has_wide_centres(const Comparison& comparison);

/// For ratios, compare.min_effect as it is tested: "factor of 1.4".
std::string margin_as_factor(const Comparison& comparison);

/// Some runs did not get to their target: the table counts those that did.
bool has_misses(const Comparison& comparison);
std::string hits_cell(const GroupResult& group);

bool has_pairs(const Comparison& comparison);
/// Better or worse.
bool is_different(const PairResult& pair);

/// "45 ± 11", or "0.31 [0.12, 0.83]" of a median or where intervals are wide, in multiples of `unit`; "> 1000" where no run got there,
/// "not measured", or "-".
std::string centre_text(const Comparison& comparison, const GroupResult& group, double unit = 1);

/// The name of centre_text(): "mean", "geometric mean", "median"; and with "± 95 %" or "[95 %]", the word behind the percentage.
std::string centre_name(ShownCentre centre);
std::string centre_name(const Comparison& comparison);
std::string interval_form(const Comparison& comparison, const std::string& word = "");

/// "+2.5 [0.0, +10.0]", a round bracket for a limit that is outside, in multiples of `unit`; of ratios "−8.3 % [−12.1, −3.0]".
std::string difference_text(const Comparison& comparison, const PairResult& pair, double unit = 1);

/// "difference", or "ratio" where that is shown as a factor.
std::string difference_name(const Comparison& comparison);

/// Small and large numbers are shown as multiples of a power of ten that the header names.
struct NumberUnit {
  int exponent = 0;

  explicit NumberUnit(const Comparison& comparison);
  double size() const;
  /// "val/loss · 10⁻⁴"
  std::string header(std::string name) const;
};

/// "20", or what stands in the way of that: "18 of 20, 2 diverged".
std::string seeds_text(const GroupResult& group);
/// The number of seeds, where all groups have the same and all ended well.
std::optional<std::size_t> same_seeds(const Comparison& comparison);

/// "steps" of steps_to_target; a logged metric is its own header.
std::string metric_header(const std::string& metric);

/// The caption of the short table.
std::string short_caption(const Comparison& comparison);

}  // namespace ffn
