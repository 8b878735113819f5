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

}  // namespace

LockFile lock_study(const fs::path& directory, LockFile::Hold hold) {
  make_directories(directory.parent_path());
  LockFile file(lock_path(directory));
  if (file.try_lock(hold)) return file;
  throw Error(ExitCode::interrupted, "another process is at work in " + directory.string(),
              "wait for it, or give this one another name=… or -o DIR");
}

bool is_study_locked(const fs::path& directory) { return is_locked(lock_path(directory)); }

}  // namespace ffn
