// The answer of a ladder's sizes together, as sentences, tables and JSON.
#pragma once

#include <string>
#include <vector>

#include "ffn/base/json.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/table.hpp"

namespace ffn {

/// " From d_model 48 to 128: relu2 stays worse than gelu, difference shrinking (sure). No projection: …" Empty without a ladder.
std::string ladder_sentences(const Comparison& comparison);

struct LadderTable {
  std::string caption;
  Table table;
};
/// Sizes with their decision accuracy; variants with slope, multiplier, speedup, prediction and projection. None without a ladder.
std::vector<LadderTable> ladder_tables(const Comparison& comparison);

/// Throws where there is no ladder.
Json ladder_json(const Comparison& comparison);

}  // namespace ffn
