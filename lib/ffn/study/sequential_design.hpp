// A sequential design: a study that adds seeds until settled, and what its directory says of its interim analyses.
#pragma once

#include "ffn/study/plan.hpp"

namespace ffn {

/// What was declared of a sequential design with this directory before, its maximum raised if more is asked for, or is declared now.
/// Nothing for a fixed number of seeds. Throws UsageError where a study has no error left for what it is asked: another question or other
/// variants than its interim analyses, seeds added to a fixed number, or the reverse; DataError where finished runs are there and what
/// their interim analyses have used up of the error is lost with study.json.
std::optional<SequentialRecord> record_to_go_on(const Study& study, const std::filesystem::path& out);

/// The number of seeds of the first interim analysis of this start, and of the last: a max below what was declared ends it earlier, and
/// changes no verdict.
std::size_t first_analysis(const SequentialSeeds& growing, const SequentialRecord& record);
std::size_t last_analysis(const SequentialSeeds& growing, const SequentialRecord& record);

/// Gives a sequential design the seeds that it trains before it first decides anything: up to the first interim analysis that is not below
/// its min.
void take_first_seeds(Study& study);

/// Whether the directory's study.json is of the same design with more seeds or interim analyses: another process is ahead.
bool has_come_further(const Plan& plan);

}  // namespace ffn
