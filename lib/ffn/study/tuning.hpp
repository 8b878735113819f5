// Tuning before the comparison: trains the grid, chooses, and extends the grid if a choice is at its end.
#pragma once

#include "ffn/study/train_study.hpp"

namespace ffn {

/// The runs that tune a study: a study of its own in the directory tuning/ of this one's.
Plan tuning_plan(const Study& study, const std::filesystem::path& out);

/// A study with its choices made, or the outcome that kept it from them: interrupted, or with runs that failed.
struct Tuned {
  std::optional<Study> study;
  StudyOutcome outcome;
};
/// A grid that some variant's choice stands at the end of grows there for all variants, at most twice. Throws UsageError for a shard.
Tuned tune_study(Study study, const StudyRequest& request, StudyObserver& observer);

/// How far the tuning of a study has come, for whoever does not go on with it.
struct TuningProgress {
  Study study;   ///< its grid as far as it has grown
  Plan plan;     ///< of its tuning runs
  Study chosen;  ///< with the choices once all of them have ended, and with the grid's first point before
};
TuningProgress tuning_progress(Study study, const std::filesystem::path& out);

}  // namespace ffn
