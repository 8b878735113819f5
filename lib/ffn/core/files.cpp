#include "ffn/core/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace ffn {
namespace fs = std::filesystem;

// As the type that callers catch: DataError for data, UsageError for what the user named.
[[noreturn]] static void refuse(ExitCode code, const std::string& message, const std::string& hint = {}) {
  if (code == ExitCode::data) throw DataError(message, hint);
  throw UsageError(message, hint);
}

std::string read_file(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    refuse(code, "no " + what + " at " + path.string(), "check the path; relative paths start at " + fs::current_path().string());
  }
  if (fs::is_directory(status)) refuse(code, path.string() + " is a directory, not a " + what);
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(code, "cannot read the " + what + " " + path.string() + ": " + std::strerror(errno));

  // Read in pieces instead of trusting file_size: pipes and /dev/stdin have none.
  std::string text;
  char buffer[1 << 16];
  while (in.read(buffer, sizeof buffer), in.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(in.gcount()));
    if (text.size() > max_bytes) {
      refuse(code, path.string() + " is larger than " + std::to_string(max_bytes >> 20) + " MiB; this is no " + what);
    }
  }
  return text;
}

namespace {

[[noreturn]] void fail(const std::string& action, const fs::path& path) {
  const int reason = errno;
  throw SystemError("cannot " + action + " " + path.string() + ": " + std::strerror(reason),
                    reason == ENOSPC ? "free some disk space and start again; nothing written so far is lost" : "");
}

void write_all(int fd, const std::string& bytes, const fs::path& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path);
    done += static_cast<size_t>(n);
  }
}

}  // namespace

void write_file_atomically(const fs::path& path, const std::string& bytes, Durability durability) {
  // The process id keeps two processes that write the same file from sharing a temporary.
  const fs::path temporary = path.string() + ".tmp-" + std::to_string(::getpid());
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail("create", temporary);
  try {
    write_all(fd, bytes, temporary);
    if (durability == Durability::flushed && ::fsync(fd) != 0) fail("flush", temporary);
  } catch (...) {
    ::close(fd);
    ::unlink(temporary.c_str());
    throw;
  }
  ::close(fd);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary.c_str());
    errno = reason;
    fail("replace", path);
  }
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw SystemError("cannot create the directory " + path.string() + ": " + error.message());
}

}  // namespace ffn
