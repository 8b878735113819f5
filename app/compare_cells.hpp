// What a comparison's tables have in common: single cells.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/report/answer.hpp"

namespace ffn::app {

bool has_pairs(const Comparison& comparison);

/// "45 ± 11", or "0.31 [0.12, 0.83]" of a median or where intervals are wide, in multiples of `unit`; "> 1000" where no run got there,
/// "not measured", or "-".
std::string centre_text(const Comparison& comparison, const GroupResult& group, double unit = 1);

/// What centre_text() is: "mean", "geometric mean", "median"; and with "± 95 %" or "[95 %]", the word behind the percentage.
std::string centre_name(const Comparison& comparison);
std::string interval_form(const Comparison& comparison, const std::string& word = "");

/// "+2.5 [0.0, +10.0]", a round bracket for a limit that is outside, in multiples of `unit`; of ratios "−8.3 % [−12.1, −3.0]".
std::string difference_text(const Comparison& comparison, const PairResult& pair, double unit = 1);

/// "difference", or "ratio" where that is shown as a factor.
std::string difference_name(const Comparison& comparison);

}  // namespace ffn::app
