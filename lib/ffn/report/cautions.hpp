// What stands beside a claim in its own sentence.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn::answer_detail {

/// ", but gelu has bad runs with 2 of 20 seeds (relu with 5)", ", on average: the differences are skewed": of pairs of one value that came
/// to one verdict, where the better side fails with a tenth of the seeds or more, or where a mean may mislead.
std::string cautions(const Comparison& comparison, const std::vector<const PairResult*>& pairs);

/// " (2 of 20 runs are bad)": of a leader or another variant that fails in a tenth of its runs or more, beyond those that are `known` to
/// have diverged or failed; otherwise empty.
std::string failing_share(const Comparison& comparison, const std::string& value, std::size_t known);

}  // namespace ffn::answer_detail
