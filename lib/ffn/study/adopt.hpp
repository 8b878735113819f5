// A study whose keys changed, and the runs of it that were trained under other names. Depends on train_cohort and run_copy.
#pragma once

#include <functional>
#include <map>

#include "ffn/study/train_cohort.hpp"

namespace ffn {

/// Finished runs of the plan that lie in the study's directory in another place: by themselves, or below the name that a variant had before
/// a key joined the sweep or left it. Of `runs`, those where nothing is in the plan's place; whole ones, computed by the engine that is
/// asked for. `found` is progress_of(plan.runs).
std::map<std::size_t, std::filesystem::path> adoptable_runs(const Plan& plan, const std::vector<std::size_t>& runs,
                                                            const std::vector<Progress>& found);

/// Copies such runs to where the plan has them, so that they are not trained again, and brings `found` up to date. Returns how many.
/// `goes_on` is told now and then how many are done, and whether to go on is its answer. Under the study's lock. Throws DiskError
/// where the disk takes nothing more; what was copied until then stays.
std::size_t adopt_runs(const Plan& plan, const std::map<std::size_t, std::filesystem::path>& places, std::vector<Progress>& found,
                       const std::function<bool(std::size_t)>& goes_on);

}  // namespace ffn
