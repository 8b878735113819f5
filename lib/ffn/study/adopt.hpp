// A study whose keys changed, and the runs of it that were trained under other names. Depends on run_copy.
#pragma once

#include "ffn/study/train_cohort.hpp"

namespace ffn {

/// Finished runs of the plan that lie in the study's directory in another place (by itself, or below a variant's name of before a key was
/// added to the sweep or left it) are copied to where the plan has them, and not trained again. Only of `runs`, and only where nothing is
/// in the place; `found` is progress_of(plan.runs) and is brought up to date. Returns how many. Under the study's lock.
std::size_t adopt_runs(const Plan& plan, const std::vector<std::size_t>& runs, std::vector<Progress>& found);

}  // namespace ffn
