// Whether an answer that is about to be shown is the first one, and its record in study.json. Depends on store.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Fills in Comparison::history and records the answer in the studies that the runs are of; a comparison without verdicts is none.
/// `asked`: as it was given to compare_runs(). Where a directory cannot be written, nothing is recorded.
void record_answer(Comparison& comparison, const CompareConfig& asked);

}  // namespace ffn
