// Whether a tuned study is asked to choose from another grid than the one that its finished runs were chosen from.
#pragma once

#include <filesystem>

#include "ffn/config/study_config.hpp"

namespace ffn {

/// Before anything is tuned: throws UsageError with what differs in `tune` where `out` has finished runs of this study under other choices
/// to choose from. Their verdicts rest on the grid that study.json names.
void refuse_other_tuning(const Study& study, const std::filesystem::path& out);

}  // namespace ffn
