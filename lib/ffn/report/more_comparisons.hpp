// What is compared beside each value with the reference: further pairs, main effects and interactions, as small tables.
#pragma once

#include <optional>
#include <string>

#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

struct CaptionedTable {
  std::string caption;
  Table table;
};

/// Nothing where compare.pairs asks for none.
std::optional<CaptionedTable> further_pairs_table(const Comparison& comparison);

/// "expansion 8 against 1", "mean over expansion".
std::string contrast_name(const Comparison& comparison, const ContrastResult& contrast);
/// Nothing where compare.interaction does not ask, or nothing is tested yet.
std::optional<CaptionedTable> contrasts_table(const Comparison& comparison);

/// "how gelu and silu differ from relu depends on expansion": the values with an interaction that is sure; empty where none is.
std::string sure_interactions(const Comparison& comparison);

/// All that is tested is undecided.
bool has_unsure_interactions(const Comparison& comparison);

}  // namespace ffn
