// How long a study will take on this machine and how much memory, from trying a little of it. Torch-free; the engine that trains is the
// caller's.
#pragma once

#include <functional>

#include "ffn/study/plan.hpp"
#include "ffn/train/cohort.hpp"

namespace ffn {

struct Use {
  double seconds = 0;           ///< of all
  double evaluation_share = 0;  ///< of what the workers do
  double peak_bytes = 0;        ///< that one worker has in memory at most; 0 where the system does not tell
};

/// Estimated use of `jobs` workers that share `cores`, files included. Tries one cohort of every kind and size: whole if it takes less
/// than about a second, in a directory beside the results, which is removed; otherwise some of its steps and evaluations. Takes no longer
/// than the study, so short cohorts beyond that are tried in part, and 0.3 s per kind whose step takes less.
/// `row_bytes`: what each run of a cohort beyond the first adds to a worker's memory.
Use estimate_use(const Plan& plan, const std::vector<PlannedCohort>& cohorts, std::size_t jobs, std::size_t cores, Engine& engine,
                 const std::function<double(const RunConfig&)>& row_bytes);

}  // namespace ffn
