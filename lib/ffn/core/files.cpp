#include "ffn/core/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>

#include "ffn/core/side_by_side.hpp"

namespace ffn {
namespace fs = std::filesystem;

// As the type that callers catch: DataError for data, UsageError for what the user named.
[[noreturn]] static void refuse(ExitCode code, const std::string& message, const std::string& hint = {}) {
  if (code == ExitCode::data) throw DataError(message, hint);
  throw UsageError(message, hint);
}

[[noreturn]] static void refuse_to_read(ExitCode code, const std::string& name, const std::string& what, int reason) {
  const std::string message = "cannot read the " + what + " " + name + ": " + std::strerror(reason);
  if (code == ExitCode::data) throw ReadError(message);
  throw UsageError(message);
}

namespace {

struct OpenFile {
  explicit OpenFile(int descriptor) : fd(descriptor) {}
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  const int fd;
};

const char* kind_of(mode_t mode) {
  return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : S_ISCHR(mode) ? "a device" : S_ISBLK(mode) ? "a device" : "no file";
}

std::string size_text(std::uintmax_t bytes) {
  if (bytes >= (std::uintmax_t{1} << 30)) return std::to_string(bytes >> 30) + " GiB";
  return bytes >= (1 << 20) ? std::to_string(bytes >> 20) + " MiB" : std::to_string(bytes) + " bytes";
}

// The whole of what an open file gives, at most `max_bytes`. /proc's files have no size: that of stat() is a hint.
std::string read_whole(int fd, std::uintmax_t size, const std::string& name, const std::string& what, ExitCode code,
                       std::uintmax_t max_bytes) {
  const auto too_large = [&] { refuse(code, name + " is larger than " + size_text(max_bytes) + "; this is no " + what); };
  if (size > max_bytes) too_large();
  std::string text;
  text.reserve(static_cast<std::size_t>(size));
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse_to_read(code, name, what, errno);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) too_large();
  }
}

// `any_kind`: pipes and devices, too.
std::string read_path(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes, bool any_kind) {
  const std::string name = path.string();
  const auto cannot = [&](int reason) { refuse_to_read(code, name, what, reason); };
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) cannot(errno);
    refuse(code, "no " + what + " at " + name, "check the path; relative paths start at " + current_directory().string());
  }
  const auto check = [&] {
    if (S_ISDIR(status.st_mode)) refuse(code, name + " is a directory, not a " + what);
    if (!any_kind && !S_ISREG(status.st_mode))
      refuse(code, name + " is " + kind_of(status.st_mode) + "; a " + what + " has to be a regular file");
  };
  check();
  // Not to wait for a writer, should a pipe take the file's place now, or for what the kernel has yet to say (/proc/kmsg).
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (S_ISREG(status.st_mode) ? O_NONBLOCK : 0)));
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) cannot(errno);
  check();
  return read_whole(file.fd, S_ISREG(status.st_mode) ? static_cast<std::uintmax_t>(status.st_size) : 0, name, what, code, max_bytes);
}

}  // namespace

std::string read_file(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes) {
  return read_path(path, what, code, max_bytes, /*any_kind=*/false);
}

std::string read_input(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes) {
  if (path == "-") return read_whole(STDIN_FILENO, 0, "stdin", what, code, max_bytes);
  return read_path(path, what, code, max_bytes, /*any_kind=*/true);
}

fs::path current_directory() {
  std::error_code error;
  auto path = fs::current_path(error);
  if (error)
    throw SystemError("the current directory is not there any more: " + error.message(), "change to another one (cd) and start again");
  return path;
}

fs::path absolute_path(const fs::path& path) { return path.is_absolute() ? path : current_directory() / path; }

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  const bool is_home = path == "~" || path.rfind("~/", 0) == 0;
  return is_home && home && *home ? home + path.substr(1) : path;
}

bool path_exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

namespace {

constexpr const char* kTemporary = ".tmp-";

[[noreturn]] void fail(const std::string& action, const fs::path& path) {
  const int reason = errno;
  const bool full = reason == ENOSPC || reason == EDQUOT;
  throw SystemError("cannot " + action + " " + path.string() + ": " + std::strerror(reason),
                    full ? "free some disk space and start again; nothing written so far is lost" : "");
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

// fsync() through a descriptor of its own. `flags` are open()'s; false, with errno, for a flush that failed, and what cannot be
// opened for another reason than `excused` is an error. What is gone needs no flush.
bool synced(const fs::path& path, int flags, int excused) {
  const int fd = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == excused)) return true;
  if (fd < 0) fail("open", path);
  int result;
  do result = ::fsync(fd);
  while (result != 0 && errno == EINTR);
  const int reason = errno;
  ::close(fd);
  errno = reason;
  return result == 0;
}

void flush(const fs::path& path) {
  if (!synced(path, 0, ENOENT)) fail("flush", path);
}

// Its entries: what was created, renamed or removed in it.
void flush_directory(const fs::path& path) {
  if (synced(path, O_DIRECTORY, EACCES)) return;  // EACCES: one may pass through, not read; then it is not ours
  // Some file systems cannot (CIFS, some FUSE mounts): entries are as safe there as they make them.
  if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail("flush", path);
}

// Flushes that run side by side share the journal's commits and the disk's own flushes; one after the other, each waits for
// its own. 180 files of 4 kB on ext4: 33 ms one by one, 14 with 4 threads, 8 with 16, 7 with 32. One syncfs(2) takes 6,
// but it also waits for whatever other programs have written: minutes, while someone copies something large.
void flush_all(const std::vector<fs::path>& paths, void (*flush_one)(const fs::path&)) {
  side_by_side(16, paths.size(), [&](std::size_t i) { flush_one(paths[i]); });
}

// The directories whose entries have to be on disk before files in `places` can be called safe: themselves, the one above,
// and every one further up whose own entry this process has not flushed yet. A study's directories are made by whichever
// process comes first, and that one may be gone before it has flushed anything.
class DirectoriesToFlush {
 public:
  explicit DirectoriesToFlush(const std::vector<fs::path>& places) {
    const std::lock_guard<std::mutex> lock(mutex());
    std::set<fs::path> all;
    for (const auto& place : places) {
      if (!all.insert(place).second) continue;
      fs::path directory = place.parent_path();
      all.insert(directory);
      while (!on_disk().count(directory) && newly_on_disk_.insert(directory).second && has_entry_above(directory)) {
        directory = directory.parent_path();
        all.insert(directory);
      }
    }
    paths.assign(all.begin(), all.end());
  }

  void are_flushed() const {
    const std::lock_guard<std::mutex> lock(mutex());
    on_disk().insert(newly_on_disk_.begin(), newly_on_disk_.end());
  }

  std::vector<fs::path> paths;

 private:
  // False for the root of a file system: what lies above is not ours.
  static bool has_entry_above(const fs::path& directory) {
    struct stat here = {}, above = {};
    return ::stat(directory.c_str(), &here) == 0 && ::stat(directory.parent_path().c_str(), &above) == 0 && here.st_dev == above.st_dev;
  }
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::set<fs::path>& on_disk() {
    static std::set<fs::path> directories;
    return directories;
  }

  std::set<fs::path> newly_on_disk_;
};

}  // namespace

void write_file_atomically(const fs::path& path, const std::string& bytes, Durability durability) {
  FileGroup alone;
  alone.write(path, bytes, durability);
  alone.commit();
}

void FileGroup::write(const fs::path& path, const std::string& bytes, Durability durability) {
  // The process id keeps two processes that write the same file from sharing a temporary; the number, two writes of one.
  static std::atomic<unsigned> number{0};
  const fs::path temporary = path.string() + kTemporary + std::to_string(::getpid()) + "-" + std::to_string(number++);
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail("create", temporary);
  files_.push_back({temporary, path});
  bool open = true;
  try {
    write_all(fd, bytes, temporary);
    open = false;
    // Flushed through another descriptor: a group may be larger than the number of files one may have open. Some file
    // systems report what could not be written here and never again.
    if (::close(fd) != 0 && errno != EINTR) fail("write", temporary);
  } catch (...) {
    if (open) ::close(fd);
    ::unlink(temporary.c_str());
    files_.pop_back();
    throw;
  }
  if (durability == Durability::cached) return;
  to_flush_.push_back(temporary);
  const fs::path place = absolute_path(path).parent_path();
  if (places_.empty() || places_.back() != place) places_.push_back(place);
}

void FileGroup::commit() {
  try {
    flush_all(to_flush_, flush);
    for (const auto& file : files_) {
      if (::rename(file.temporary.c_str(), file.path.c_str()) != 0) fail("replace", file.path);
    }
    if (!places_.empty()) {
      const DirectoriesToFlush directories(places_);
      flush_all(directories.paths, flush_directory);
      directories.are_flushed();
    }
  } catch (...) {
    discard();
    throw;
  }
  files_.clear();
  to_flush_.clear();
  places_.clear();
}

// Its names are unique: unlinking a temporary that was renamed already does nothing.
void FileGroup::discard() noexcept {
  for (const auto& file : files_) ::unlink(file.temporary.c_str());
  files_.clear();
  to_flush_.clear();
  places_.clear();
}

void remove_temporaries(const fs::path& directory) {
  std::error_code error;  // what cannot be read or removed harms nobody
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().find(kTemporary) != std::string::npos) fs::remove(entry.path(), error);
  }
}

bool make_directory(const fs::path& path) {
  std::error_code error;
  const bool created = fs::create_directory(path, error);
  if (error) throw SystemError("cannot create the directory " + path.string() + ": " + error.message());
  return created;
}

void remove_old_temporaries(const fs::path& directory) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (entry.path().filename().string().find(kTemporary) == std::string::npos) continue;
    if (const auto written = entry.last_write_time(error); !error && written < old) fs::remove(entry.path(), error);
  }
}

bool make_directories(const fs::path& path) {
  if (path.empty()) return false;  // the parent of a name alone: the current directory
  std::error_code error;
  if (fs::create_directory(path, error)) return true;  // the usual case: only the last one is missing
  const bool created = error && fs::create_directories(path, error);
  if (error) throw SystemError("cannot create the directory " + path.string() + ": " + error.message());
  return created;
}

}  // namespace ffn
