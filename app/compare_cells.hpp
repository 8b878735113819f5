// What a comparison's tables have in common: single cells.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/report/answer.hpp"

namespace ffn::app {

bool has_pairs(const Comparison& comparison);

/// "45 ± 11" in multiples of `unit`; "> 1000" where no run got there, "not measured", or "-".
std::string mean_text(const GroupResult& group, double unit = 1);

/// "+2.5 [0.0, +10.0]", a round bracket for a limit that is outside; in multiples of `unit`.
std::string difference_text(const PairResult& pair, double unit = 1);

/// One or two words.
std::string short_verdict(const PairResult& pair);

}  // namespace ffn::app
