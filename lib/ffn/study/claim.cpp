#include "ffn/study/claim.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ffn/core/files.hpp"

namespace ffn {

std::optional<RunClaim> RunClaim::take(const std::filesystem::path& run) {
  // Beside the run's directory, not in it: a directory that is moved aside must not take the lock along.
  make_directories(run.parent_path());
  const std::string path = (run.parent_path() / ("." + run.filename().string() + ".lock")).string();
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) throw SystemError("cannot open " + path + ": " + std::strerror(errno));
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int reason = errno;
    ::close(fd);
    if (reason == EWOULDBLOCK) return std::nullopt;
    throw SystemError("cannot lock " + path + ": " + std::strerror(reason), "the file system has to support flock()");
  }
  return RunClaim(fd);
}

RunClaim::~RunClaim() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ffn
