// What is compared beside each value with the reference: further pairs, main effects and interactions, as small tables.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

/// "silu's difference from relu depends on expansion (4 and 8 against 1)": of each value whose interaction is sure.
std::vector<std::string> sure_interactions(const Comparison& comparison);

/// All that is tested is undecided.
bool has_unsure_interactions(const Comparison& comparison);

}  // namespace ffn
