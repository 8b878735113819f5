// Locks of a study's directory. Processes that train share it; renaming, merging and cleaning need it alone.
#pragma once

#include <filesystem>

#include "ffn/store/lock_file.hpp"

namespace ffn {

/// Throws Error with the exit code of an interruption (try again later) when the directory is taken.
LockFile lock_study(const std::filesystem::path& directory, LockFile::Hold hold);

/// Whether a process works there. Creates nothing.
bool is_study_locked(const std::filesystem::path& directory);

}  // namespace ffn
