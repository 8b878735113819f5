// How long a study will take on this machine, from trying a little of it. Torch-free; the engine that trains is the caller's.
#pragma once

#include "ffn/engine/interface.hpp"
#include "ffn/study/plan.hpp"

namespace ffn {

/// Seconds that `jobs` workers take for the cohorts, files included. Of every kind and size of cohort one is tried: as a whole if it
/// takes less than about a second, in a directory of its own beside the results, which is removed; else some steps and evaluations of
/// it. Takes a second or so per kind, more where a step or an evaluation takes longer than that.
double estimate_seconds(const Plan& plan, const std::vector<PlannedCohort>& cohorts, std::size_t jobs, Engine& engine);

}  // namespace ffn
