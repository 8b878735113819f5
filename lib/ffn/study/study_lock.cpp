#include "ffn/study/study_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ffn/core/files.hpp"

namespace ffn {

namespace {

std::string content(int fd) {
  char buffer[128];
  const ssize_t got = ::pread(fd, buffer, sizeof buffer, 0);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
}

}  // namespace

StudyLock::StudyLock(const std::filesystem::path& directory, const std::string& fingerprint, bool exclusive) {
  // Beside the directory, so that moving it aside does not take the lock along.
  make_directories(directory.parent_path());
  const std::string path = (directory.parent_path() / ("." + directory.filename().string() + ".lock")).string();
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) throw SystemError("cannot open " + path + ": " + std::strerror(errno));
  const auto refuse = [&](const std::string& who) {
    ::close(fd_);
    throw Error(ExitCode::interrupted, who + " is at work in " + directory.string(),
                "wait for it, or give this one another name=… or -o DIR");
  };
  const bool alone = ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
  if (alone) {
    if (::ftruncate(fd_, 0) != 0 || ::pwrite(fd_, fingerprint.data(), fingerprint.size(), 0) < 0) refuse("something that locks no files");
    if (!exclusive) share();
    return;
  }
  if (exclusive) refuse("another process");
  // Someone is there; their fingerprint stands in the file before they share it.
  for (int attempt = 0; ::flock(fd_, LOCK_SH | LOCK_NB) != 0; ++attempt) {
    if (attempt == 50) refuse("another process");
    ::usleep(20'000);
  }
  if (content(fd_) != fingerprint) refuse("another study of this name");
}

void StudyLock::share() { ::flock(fd_, LOCK_SH); }

StudyLock::~StudyLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace ffn
