// Parts of the answer: names, numbers and lists as it writes them, what stands beside a claim, and its first sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ffn/compare/compare.hpp"

namespace ffn::answer_detail {

constexpr std::size_t kMostNamed = 4;  // of a list that goes on

/// "a, b and c"; of many, the first few and how many more.
std::string enumeration(const std::vector<std::string>& words);

/// " steps"; nothing for a metric without a unit.
std::string unit_of(const std::string& metric);

/// Whether a value says something without its key: "relu", not "8" or "true".
bool speaks_for_itself(const std::string& value);
/// "relu"; "expansion 8" and "bias true" where the value does not speak for itself.
std::string name_of(const Comparison& comparison, const std::string& value);

/// A number to the digits that the uncertainty leaves.
std::string number_of(const Comparison& comparison, double x, double uncertainty);

/// Values of `by` with a run that is over.
std::vector<std::string> values_of(const Comparison& comparison);

/// The one key that makes the facets, if it is one.
std::string only_key(const Comparison& comparison);

/// ", but gelu has bad runs with 2 of 20 seeds (relu with 5)", ", on average: the differences are skewed": of pairs of one value that came
/// to one verdict, where the better side fails with a tenth of the seeds or more, or where a mean may mislead.
std::string cautions(const Comparison& comparison, const std::vector<const PairResult*>& pairs);

/// " (2 of 20 runs are bad)": of a leader or another variant that fails in a tenth of its runs or more, beyond those that are `known` to
/// have diverged or failed; otherwise empty.
std::string failing_share(const Comparison& comparison, const std::string& value, std::size_t known);

/// "relu gets there first at every expansion: 28 steps on average; gelu 33, silu 44." Empty where nothing can be ranked.
std::string leader_sentence(const Comparison& comparison);

}  // namespace ffn::answer_detail
