// A study that adds seeds until settled, and what its directory says of it. Depends on plan.
#pragma once

#include "ffn/study/plan.hpp"

namespace ffn {

/// For whoever starts a study again: throws DataError where finished runs of a study that adds seeds, or would from now on, are there
/// and its study.json is lost with its copy. What its looks have used up of the error that it may make is not known then.
void require_looks(const Study& study, const std::filesystem::path& directory);

/// What a growing study goes on with: the record in its directory, its maximum raised if more is asked for; a new one where nothing has
/// been trained. Throws UsageError where the directory holds finished runs of a fixed number of seeds, or where variants or the
/// question (`compare`) are not those of the looks so far: all of these would change what the looks were paid for.
SequentialRecord record_to_go_on(const Study& study, std::size_t comparisons, const std::filesystem::path& directory);

/// Throws UsageError where a study with a fixed number of seeds meets a growing one that has been looked at.
void refuse_fixed_seeds(const Study& study, const std::filesystem::path& directory);

/// Whether the directory's study.json is of the same growing study with more seeds or looks: another process is ahead.
bool has_come_further(const Plan& plan);

}  // namespace ffn
