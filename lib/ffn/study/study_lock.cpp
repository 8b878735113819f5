#include "ffn/study/study_lock.hpp"

#include "ffn/base/files.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// Beside the directory: one that is renamed does not take the lock along.
fs::path lock_path(const fs::path& directory) {
  const fs::path named = directory.has_filename() ? directory : directory.parent_path();
  return named.parent_path() / ("." + named.filename().string() + ".lock");
}

LockFile lock_file_beside(const fs::path& directory) {
  make_directories(directory.parent_path());
  return LockFile(lock_path(directory));
}

}  // namespace

StudyLock::StudyLock(const fs::path& directory, Hold hold) : file_(lock_file_beside(directory)) {
  if (file_.try_lock(hold == Hold::alone ? LockFile::Hold::alone : LockFile::Hold::shared)) return;
  throw Error(ExitCode::interrupted, "another process is at work in " + directory.string(),
              "wait for it, or give this one another name=… or -o DIR");
}

bool StudyLock::is_taken(const fs::path& directory) { return is_locked(lock_path(directory)); }

}  // namespace ffn
