#include "ffn/record/run_claim.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ffn/core/files.hpp"
#include "ffn/core/hash.hpp"

namespace ffn {

// The same in every version and build, which may all be at work in one directory. 60 bits: no two runs share a byte.
static off_t byte_of(const std::string& name) { return static_cast<off_t>(std::stoll(sha256_hex(name).substr(0, 15), nullptr, 16)); }

std::optional<RunClaim> RunClaim::take(const std::filesystem::path& run) {
  // Beside the run's directory, not in it: a directory that is moved aside must not take the lock along. One file for all
  // runs beside each other, each of which has a byte of it (that need not exist): a file for each would be a tenth of all
  // files that a study creates.
  make_directories(run.parent_path());
  const std::string path = (run.parent_path() / ".lock").string();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) throw SystemError("cannot open " + path + ": " + std::strerror(errno));
  struct flock lock = {};
  lock.l_type = F_WRLCK, lock.l_whence = SEEK_SET, lock.l_start = byte_of(run.filename().string()), lock.l_len = 1;
  // Of the open file, not of the process as with F_SETLK: two claims of one process exclude each other, too.
  if (::fcntl(fd, F_OFD_SETLK, &lock) != 0) {
    const int reason = errno;
    ::close(fd);
    if (reason == EAGAIN || reason == EACCES) return std::nullopt;
    throw SystemError("cannot lock " + path + ": " + std::strerror(reason), "the file system has to support fcntl() locks");
  }
  return RunClaim(fd);
}

RunClaim::~RunClaim() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ffn
