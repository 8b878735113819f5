// Names, numbers and lists as the answer writes them.
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

}  // namespace ffn::answer_detail
