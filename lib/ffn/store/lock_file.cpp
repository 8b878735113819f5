#include "ffn/store/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ffn/base/disk_error.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

bool means_no_locks(int reason) {
  const auto codes = {ENOLCK, ENOTSUP, EOPNOTSUPP, EINVAL, ENOSYS, EPERM};
  return std::find(codes.begin(), codes.end(), reason) != codes.end();
}

[[noreturn]] void fail(const char* action, const fs::path& path, int reason) {
  std::string hint;
  if (reason == EACCES || reason == EPERM) hint = "results go where -o DIR says; you need to be able to write there";
  if (reason == ELOOP) hint = "it is a symbolic link, which no lock file is; look where it points before you remove it";
  const std::string what = std::string("cannot ") + action + " the lock file " + path.string() + ": " + std::strerror(reason);
  if (hint.empty()) throw_unwritable(what, reason);
  throw SystemError(what, hint);
}

// A lock of the open file, not of the process as with F_SETLK: two locks of one process exclude each other, too.
struct flock lock_of(short type, std::int64_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

LockFile::LockFile(fs::path path) : path_(std::move(path)) {
  // Without waiting: what is in the way may be a pipe.
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666));
  if (!file_.is_open()) fail("open", path_, errno);
  struct stat status = {};
  if (::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode)) return;
  throw SystemError(path_.string() + " is no regular file, so it cannot be a lock file", "look what it is; ffn-train did not put it there");
}

bool LockFile::try_lock(Hold hold, std::int64_t byte) {
  struct flock lock = lock_of(hold == Hold::shared ? F_RDLCK : F_WRLCK, byte);
  if (::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) return true;
  const int reason = errno;
  if (reason == EAGAIN || reason == EACCES) return false;
  if (!means_no_locks(reason)) fail("lock", path_, reason);
  return true;
}

bool is_locked(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct flock lock = lock_of(F_WRLCK, 0);
  return file.is_open() && ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace ffn
