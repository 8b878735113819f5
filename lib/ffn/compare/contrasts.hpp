// Whether the answer depends on the second factor: main effects and interactions, `compare.interaction`.
#pragma once

#include <string>
#include <vector>

#include "ffn/compare/pair_scale.hpp"
#include "ffn/compare/pairs.hpp"

namespace ffn {

/// The main effect of a value over all its cells, or the interaction between two of them: the first is what the other is held against.
struct AskedContrast {
  std::string value;
  bool is_main_effect;
  std::vector<std::size_t> cells;
};

/// Contrasts of each value with the first of `values`, over the cells that have both: their mean, and each but the first against the first.
/// Throws UsageError unless exactly one key besides `by` makes the cells.
std::vector<AskedContrast> asked_contrasts(const std::vector<Cell>& cells, const std::vector<std::string>& facet_by,
                                           const std::vector<std::string>& values);

/// Adds what can be tested of them to the comparison, and a note on what cannot: a contrast needs every run's value, since a difference of
/// two missing ones is nothing, and leaving seeds out would favour the variant that fails. It counts in the family all the same.
/// Times are cut at the smallest budget of the contrast's runs, and a run that never got there counts with all of it.
void add_contrasts(const std::vector<AskedContrast>& asked, const std::vector<Cell>& cells, const Metric& metric, const PairScale& scale,
                   const stats::CompareOptions& options, Comparison& out);

}  // namespace ffn
