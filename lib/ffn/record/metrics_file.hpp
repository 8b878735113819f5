// metrics.jsonl: one flat JSON object per evaluation, appended while a run trains.
// A crash can tear the last line; everything here knows that. Depends on core and the engine's structs.
#pragma once

#include <filesystem>
#include <vector>

#include "ffn/core/files.hpp"
#include "ffn/engine/interface.hpp"

namespace ffn {

/// Appends evaluations, from number `first` on, a line each in one write(): a crash leaves whole lines behind others, and at
/// most one torn one at the end. Throws SystemError; what could not be written completely is taken back.
void append_metrics(const std::filesystem::path& path, const std::vector<Evaluation>& evaluations, std::size_t first = 0);

/// Everything on file, oldest first; a torn last line is left out, a missing file is an empty history.
/// Throws DataError with file and line for any other line that is none of ours.
std::vector<Evaluation> read_metrics(const std::filesystem::path& path);

/// Drops lines after `step` and a torn last line, so that a run that resumes at `step` appends where it left off.
/// Replaces the file atomically (with a `group`, when that is committed), and only if something has to go. No file: nothing
/// to do.
void truncate_metrics_after(const std::filesystem::path& path, std::int64_t step, FileGroup* group = nullptr);

}  // namespace ffn
