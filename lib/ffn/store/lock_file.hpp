// Advisory locks on a file that holds nothing else: released by the system when their holder dies, however that happens.
// Whether they reach every process that matters is a question to the file system.
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
  /// of this process or another, is in the way. Throws SystemError where the file system has no locks, unless
  /// do_without_locks() was called.
  bool try_lock(Hold hold, std::int64_t byte = 0);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

/// Whether a process has a lock on the first byte of the file. Creates nothing; false if there is no such file.
bool is_locked(const std::filesystem::path& path);

/// From now on it is no error of this process that a file system has no locks: somebody else sees to it that no two
/// processes train the same run.
void do_without_locks();
bool locks_are_needed();
/// What to do where locks cannot be had.
extern const char* const kWithoutLocksHint;

/// What the mount table (the text of /proc/self/mountinfo) tells about fcntl() locks below a canonical path.
struct LockReach {
  bool one_machine = false;  ///< they are known to hold among the processes of one machine only
  std::string mount;         ///< "nfs4 with local_lock=all on /data", for a person
};
LockReach lock_reach(const std::string& mountinfo, const std::filesystem::path& canonical);
/// Of the nearest directory that exists, on this machine.
LockReach lock_reach(const std::filesystem::path& path);

}  // namespace ffn
