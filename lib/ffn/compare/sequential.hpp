// Verdicts of a study that adds seeds until settled: looks at its pairs, whose errors are paid for (ffn/stats/sequential.hpp).
#pragma once

#include "ffn/compare/compare.hpp"
#include "ffn/compare/pair_scale.hpp"

namespace ffn {

/// How many of the first `finished` seeds the verdicts are of: those of the last look, or all before the first look.
std::size_t seeds_looked_at(const SequentialRequest& request, std::size_t finished);

/// Judges all pairs by their `advantages`: verdicts, and the intervals of their effects unless the request does without.
void judge_in_looks(Comparison& comparison, const SequentialRequest& request, const PairScale& scale);

/// "better: at the look at 24 seeds of at most 200 (4 comparisons)".
std::string sequential_sentence(const Comparison& comparison, const PairResult& pair);

}  // namespace ffn
