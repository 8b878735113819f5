// Who works in a study's directory. Processes that train share it; whoever renames it, merges into it or cleans it has to be alone.
#pragma once

#include <filesystem>

#include "ffn/store/lock_file.hpp"

namespace ffn {

class StudyLock {
 public:
  enum class Hold { shared, alone };
  /// Throws Error with the exit code of an interruption (try again later) when the directory is taken, SystemError where locks cannot be
  /// had.
  StudyLock(const std::filesystem::path& directory, Hold hold);

  /// Whether a process works there. Creates nothing.
  static bool is_taken(const std::filesystem::path& directory);

 private:
  LockFile file_;
};

}  // namespace ffn
