// The best point of a study's grid for each variant, from the runs of its tuning study.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "ffn/config/study_config.hpp"

namespace ffn {

struct TuningChoices {
  std::vector<std::vector<std::size_t>> of;              ///< variant → index of a grid point; per judging seed if each has its own
  std::vector<std::pair<std::size_t, GridEnd>> at_ends;  ///< axes, and their ends at which some variant's choice stands
  TuningResult result;
};

/// `runs`: directories of tuning_study(study), seed by seed as a plan has them; all have ended. A run that diverged is worse than every
/// value. What stands at an end is told from the tuning seeds of the first five judging seeds, so that more seeds do not change the grid.
TuningChoices choose_points(const Study& study, const std::vector<std::filesystem::path>& runs);

}  // namespace ffn
