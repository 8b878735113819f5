// Whether a study's directory holds results of another study of its name. Depends on train_cohort.
#pragma once

#include "ffn/study/train_cohort.hpp"

namespace ffn {

/// Throws UsageError, naming the keys that differ and the ways out, where a run of the plan has another config's or engine's results
/// in its place (`found` is progress_of(plan.runs)), or where the study that was trained there differs in what neither of them sweeps.
/// A study that grew by values, keys or seeds is the same.
void refuse_other_study(const Plan& plan, const std::vector<Progress>& found);

/// The same for a study that is tuned, before it is: throws where its directory has the runs of a study that was not tuned, or runs that
/// no choice leads to.
void refuse_untuned_study(const Study& study, const std::filesystem::path& out);

}  // namespace ffn
