// Advisory locks on a file that holds nothing else: released by the system when their holder dies, however that happens. They save work
// and guard nothing: where a file system has none, or keeps them to one machine, two processes may train one run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ffn/base/descriptor.hpp"

namespace ffn {

/// Opens or creates a lock file. A symbolic link is not followed, nothing but a regular file is opened, and nothing is ever
/// cut off: a file that somebody else put there stays as it is. Locks end with the object.
class LockFile {
 public:
  enum class Hold { shared, alone };

  /// Throws SystemError naming the file, the reason and a remedy.
  explicit LockFile(std::filesystem::path path);

  /// Takes the lock on one byte of the file (which need not exist), or changes how it is held. False when another LockFile,
  /// of this process or another, is in the way. True where the file system has no locks.
  bool try_lock(Hold hold, std::int64_t byte = 0);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

/// Whether a process has a lock on the first byte of the file. Creates nothing; false if there is no such file.
bool is_locked(const std::filesystem::path& path);

}  // namespace ffn
