// Whether an answer that is about to be shown is the first one, and its record in study.json. Depends on record.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

/// Fills in Comparison::history and records the look in the studies that the runs are of; a comparison without verdicts is no look.
/// `asked`: as it was given to compare_runs(). Where a directory cannot be written, nothing is recorded.
void take_look(Comparison& comparison, const CompareConfig& asked);

}  // namespace ffn
