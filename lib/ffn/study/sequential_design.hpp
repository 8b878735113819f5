// A sequential design: a study that adds seeds until every comparison is decided, and what its directory says of its interim analyses.
#pragma once

#include "ffn/study/plan.hpp"

namespace ffn {

/// The sequential design declared in this directory, its maximum raised if more is asked for; without one, the design declared now.
/// Empty for a fixed number of seeds. Throws UsageError if the study has no error left for the request: another question or other
/// variants than its interim analyses had, seeds added to a fixed number, or the reverse. Throws DataError if there are finished runs but
/// study.json, which says how much error their interim analyses used up, is lost.
std::optional<SequentialRecord> record_to_go_on(const Study& study, const std::filesystem::path& out);

/// The number of seeds of the first interim analysis of this start, and of the last: a max below what was declared ends it earlier, and
/// changes no verdict.
std::size_t first_analysis(const SequentialSeeds& seeds, const SequentialRecord& record);
std::size_t last_analysis(const SequentialSeeds& seeds, const SequentialRecord& record);

/// Gives a sequential design the seeds that it trains before it first decides anything: up to the first interim analysis that is not below
/// its min.
void take_first_seeds(Study& study);

/// Whether the directory's study.json is of the same design with more seeds or interim analyses: another process is ahead.
bool has_come_further(const Plan& plan);

}  // namespace ffn
