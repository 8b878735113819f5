// Whether a tuned study is asked to choose from another grid than the one that its finished runs were chosen from, or to tune where
// another study is.
#pragma once

#include <filesystem>

#include "ffn/config/study_config.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {

/// Before anything is tuned: throws UsageError with what differs in `tune` where `out` has finished runs of this study under other choices
/// to choose from. Their verdicts rest on the grid that study.json names. So it does where refuse_study_in_place_of_tuning() does.
void refuse_other_tuning(const Study& study, const std::filesystem::path& out);

/// Throws UsageError where what a person trained stands in the directory that this study would be tuned in: another study, which has the
/// name by chance. The command does not name it, so that --fresh is not meant for it.
void refuse_study_in_place_of_tuning(const Study& study, const std::filesystem::path& out);

/// Whether what study.json says there is a study that tunes for another: its seeds are none that judge, and it takes no looks.
bool is_tuning_study(const StudyFile& study);

}  // namespace ffn
