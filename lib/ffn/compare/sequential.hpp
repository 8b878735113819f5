// Verdicts of a sequential design: interim analyses of its pairs, whose errors are paid for (ffn/stats/sequential.hpp).
#pragma once

#include "ffn/compare/compare.hpp"
#include "ffn/compare/pair_scale.hpp"

namespace ffn {

/// How many of the first `finished` seeds the verdicts are of: those of the last interim analysis, or all before the first.
std::size_t seeds_analysed(const SequentialRequest& request, std::size_t finished);

/// Judges all pairs by their `advantages`: verdicts, and the intervals of their effects unless the request does without.
void judge_sequentially(Comparison& comparison, const SequentialRequest& request, const PairScale& scale);

/// "better: at the interim analysis at 24 seeds of at most 200 (4 comparisons)".
std::string sequential_sentence(const Comparison& comparison, const PairResult& pair);

}  // namespace ffn
