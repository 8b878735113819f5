// The comparison of a planned study, as far as it has come.
#pragma once

#include "ffn/compare/compare.hpp"
#include "ffn/study/plan.hpp"

namespace ffn {

enum class FromDisk { yes, no };
/// `resamples` of what is shown beside the verdicts; in a sequential design the intervals take longest, and `verdicts_only` does without.
Comparison compare_plan(const Plan& plan, std::size_t resamples, FromDisk from_disk = FromDisk::yes, bool verdicts_only = false);

/// The comparison of a study of which nothing has been trained.
Comparison compare_before(Study study, const std::filesystem::path& out);

/// How many comparisons the study makes, before anything is trained. Throws UsageError or ConfigError for what is wrong with them or with
/// its claims; claims about values that it does not have may stand (`whole` is false) where a command line narrows a study.
std::size_t check_study(const Study& study, const std::string& source, bool whole = true);

/// Into the study's compare.json; a directory that cannot be written is warned of.
void save_comparison(const Plan& plan, const Json& comparison);

}  // namespace ffn
