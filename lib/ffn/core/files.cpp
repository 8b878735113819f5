#include "ffn/core/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "ffn/core/disk_error.hpp"
#include "ffn/core/marked_names.hpp"
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

// The one rule: what says that nothing is there. A name that is too long for a file system is no file's.
static bool means_absent(int reason) { return reason == ENOENT || reason == ENOTDIR || reason == ENAMETOOLONG; }

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

// `any_kind`: pipes and devices, too. Nothing where nothing is.
std::optional<std::string> read_path(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes, bool any_kind) {
  const std::string name = path.string();
  const auto cannot = [&](int reason) { refuse_to_read(code, name, what, reason); };
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (!means_absent(errno) || errno == ENAMETOOLONG) cannot(errno);
    return std::nullopt;
  }
  const auto check = [&] {
    if (S_ISDIR(status.st_mode)) refuse(code, name + " is a directory, not a " + what);
    if (!any_kind && !S_ISREG(status.st_mode))
      refuse(code, name + " is " + kind_of(status.st_mode) + "; a " + what + " has to be a regular file");
  };
  check();
  // Not to wait for a writer, should a pipe take the file's place now, or for what the kernel has yet to say (/proc/kmsg).
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (S_ISREG(status.st_mode) ? O_NONBLOCK : 0)));
  if (file.fd < 0 && errno == ENOENT) return std::nullopt;  // removed or replaced in between
  if (file.fd < 0 || ::fstat(file.fd, &status) != 0) cannot(errno);
  check();
  return read_whole(file.fd, S_ISREG(status.st_mode) ? static_cast<std::uintmax_t>(status.st_size) : 0, name, what, code, max_bytes);
}

std::string or_refuse(std::optional<std::string> text, const fs::path& path, const std::string& what, ExitCode code) {
  if (!text) refuse(code, "no " + what + " at " + path.string(), "check the path; relative paths start at " + current_directory().string());
  return std::move(*text);
}

}  // namespace

std::string read_file(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes) {
  return or_refuse(read_path(path, what, code, max_bytes, /*any_kind=*/false), path, what, code);
}

std::optional<std::string> read_file_if_there(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes) {
  return read_path(path, what, code, max_bytes, /*any_kind=*/false);
}

std::string read_input(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes) {
  if (path == "-") return read_whole(STDIN_FILENO, 0, "stdin", what, code, max_bytes);
  return or_refuse(read_path(path, what, code, max_bytes, /*any_kind=*/true), path, what, code);
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

namespace {

[[noreturn]] void refuse_to_look(const fs::path& path, int reason) {
  throw ReadError("cannot read " + path.string() + ": " + std::strerror(reason));
}

fs::file_type type_of_mode(mode_t mode) {
  return S_ISREG(mode)    ? fs::file_type::regular
         : S_ISDIR(mode)  ? fs::file_type::directory
         : S_ISLNK(mode)  ? fs::file_type::symlink
         : S_ISFIFO(mode) ? fs::file_type::fifo
                          : fs::file_type::unknown;
}

using Stat = int (*)(const char*, struct stat*);

fs::file_type type_by(Stat look, const fs::path& path) {
  struct stat status = {};
  if (look(path.c_str(), &status) == 0) return type_of_mode(status.st_mode);
  if (!means_absent(errno)) refuse_to_look(path, errno);
  return fs::file_type::not_found;
}

}  // namespace

fs::file_type type_of(const fs::path& path) { return type_by(::stat, path); }
fs::file_type link_type_of(const fs::path& path) { return type_by(::lstat, path); }
bool path_exists(const fs::path& path) { return type_of(path) != fs::file_type::not_found; }
bool directory_exists(const fs::path& path) { return type_of(path) == fs::file_type::directory; }

std::vector<DirectoryEntry> entries_of(const fs::path& directory) {
  std::vector<DirectoryEntry> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.empty() ? "." : directory.c_str()), ::closedir);
  if (!open && !means_absent(errno)) refuse_to_look(directory, errno);
  while (open) {
    errno = 0;
    const dirent* entry = ::readdir(open.get());
    if (!entry && errno != 0) refuse_to_look(directory, errno);
    if (!entry) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const fs::path path = directory / name;
    const bool is_known = entry->d_type == DT_REG || entry->d_type == DT_DIR || entry->d_type == DT_LNK;
    out.push_back({path, is_known ? type_of_mode(DTTOIF(entry->d_type)) : link_type_of(path)});
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return out;
}

bool any_entry_below(const fs::path& directory, const std::function<bool(const DirectoryEntry&)>& holds) {
  for (const auto& entry : entries_of(directory)) {
    if (holds(entry) || (entry.type == fs::file_type::directory && any_entry_below(entry.path, holds))) return true;
  }
  return false;
}

namespace {

[[noreturn]] void fail(const std::string& action, const fs::path& path) {
  const int reason = errno;
  throw_unwritable("cannot " + action + " " + path.string() + ": " + std::strerror(reason), reason);
}

// Under a name that nobody can have taken before: containers have equal process ids, and a link planted there would be written through.
std::pair<fs::path, int> new_temporary(const fs::path& path) {
  for (int tries = 10;; --tries) {
    std::uint64_t number = 0;
    if (::getentropy(&number, sizeof number) != 0) fail("name a temporary for", path);
    fs::path temporary = path.string() + kTemporaryMark + std::to_string(::getpid()) + "-" + std::to_string(number);
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0) return {std::move(temporary), fd};
    if (errno != EEXIST || tries == 0) fail("create", temporary);
  }
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

// Some file systems report what could not be written here and never again.
void close_written(int fd, const fs::path& path) {
  if (::close(fd) != 0 && errno != EINTR) fail("write", path);
}

// False, with errno, where it fails.
bool synced(int fd) {
  int result;
  do result = ::fsync(fd);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

// Lets the disk begin with what a flush will wait for: of many files that are flushed together, one commit of the journal then finds
// the bytes of all. 180 files of 3 kB on ext4, 16 at once: 5.9 ms of processor time in the kernel instead of 9.4.
void start_writing(int fd) {
#if defined(__linux__)
  ::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);  // where it cannot be had, the flush does it all
#else
  static_cast<void>(fd);
#endif
}

// Its entries: what was created, renamed or removed in it. What is gone needs no flush; a directory that one may pass through
// and not read is not ours.
void flush_directory(const fs::path& path) {
  const OpenFile directory(::open(path.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC));
  if (directory.fd < 0 && errno != ENOENT && errno != EACCES) fail("open", path);
  if (directory.fd < 0 || synced(directory.fd)) return;
  // Some file systems cannot (CIFS, some FUSE mounts): entries are as safe there as they make them.
  if (errno != EINVAL && errno != ENOTSUP && errno != EROFS) fail("flush", path);
}

// Flushes that run side by side share the journal's commits and the disk's own flushes; one after the other, each waits for
// its own. 180 files of 4 kB on ext4: 33 ms one by one, 14 with 4 threads, 8 with 16, 7 with 32. One syncfs(2) takes 6,
// but it also waits for whatever other programs have written: minutes, while someone copies something large.
constexpr std::size_t kFlushedAtOnce = 16;

// Which directories' own entries, in the directory above, this process knows to be on disk. A study's directories are made by
// whichever process comes first, and that one may be gone before it has flushed anything: what is not known is flushed.
class KnownEntries {
 public:
  static KnownEntries& get() {
    static KnownEntries one;
    return one;
  }

  void made(const fs::path& directory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    on_disk_.erase(directory);
    new_.insert(directory);
  }

  void made_with_parents(const fs::path& directory) {
    for (fs::path above = directory; above.has_relative_path(); above = above.parent_path()) made(above);
  }

  struct Flush {
    std::vector<fs::path> directories;
    std::vector<fs::path> entries;  // of these directories, which are on disk once those above are flushed
  };

  // What has to be flushed before files in `places` can be called safe: these, and those above whose entries are not known.
  Flush needed_for(const std::set<fs::path>& places) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::set<fs::path> directories = places, entries;
    for (auto directory : places) {
      while (!on_disk_.count(directory) && entries.insert(directory).second && has_entry_above(directory)) {
        directory = directory.parent_path();
        directories.insert(directory);
      }
    }
    for (const auto& directory : new_) {
      if (directories.count(directory.parent_path())) entries.insert(directory);
    }
    return {{directories.begin(), directories.end()}, {entries.begin(), entries.end()}};
  }

  void are_on_disk(const std::vector<fs::path>& entries) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& directory : entries) {
      on_disk_.insert(directory);
      new_.erase(directory);
    }
  }

 private:
  // False for the root of a file system: what lies above is not ours.
  static bool has_entry_above(const fs::path& directory) {
    struct stat here = {}, above = {};
    return ::stat(directory.c_str(), &here) == 0 && ::stat(directory.parent_path().c_str(), &above) == 0 && here.st_dev == above.st_dev;
  }

  std::mutex mutex_;
  std::set<fs::path> on_disk_, new_;  // new: made by this process, and not flushed since
};

void flush_directories_of(const std::vector<fs::path>& places) {
  std::set<fs::path> absolute;
  fs::path here;
  for (const auto& place : places) {
    if (!place.is_absolute() && here.empty()) here = current_directory();
    absolute.insert(place.empty() ? here : here / place);
  }
  const auto needed = KnownEntries::get().needed_for(absolute);
  side_by_side(kFlushedAtOnce, needed.directories.size(), [&](std::size_t i) { flush_directory(needed.directories[i]); });
  KnownEntries::get().are_on_disk(needed.entries);
}

}  // namespace

void write_file_atomically(const fs::path& path, const std::string& bytes, Durability durability) {
  FileGroup alone;
  alone.write(path, bytes, durability);
  alone.commit();
}

void FileGroup::write(const fs::path& path, const std::string& bytes, Durability durability) {
  const auto [temporary, fd] = new_temporary(path);
  files_.push_back({temporary, path});
  bool open = true;
  try {
    write_all(fd, bytes, temporary);
    open = false;
    if (durability == Durability::cached) close_written(fd, temporary);
    else to_flush_.push_back({temporary, keep_or_close(fd, temporary)});
  } catch (...) {
    if (open) ::close(fd);
    ::unlink(temporary.c_str());
    files_.pop_back();
    throw;
  }
  if (durability == Durability::cached) return;
  const fs::path place = path.parent_path();
  if (places_.empty() || places_.back() != place) places_.push_back(place);
}

void FileGroup::flush_first(const fs::path& path, int descriptor) {
  const bool known = !to_flush_.empty() && to_flush_.back().path == path;  // whoever wrote it asked for it, too
  if (!known) to_flush_.push_back({path, descriptor < 0 ? -1 : keep_or_close(descriptor, path)});
  else if (descriptor >= 0) close_written(descriptor, path);
}

// A group may be larger than the number of files that one may have open: most of a large one is opened again for its flush.
int FileGroup::keep_or_close(int descriptor, const fs::path& path) {
  start_writing(descriptor);
  if (kept_open_ < kFlushedAtOnce) {
    ++kept_open_;
    return descriptor;
  }
  close_written(descriptor, path);
  return -1;
}

// What is gone needs no flush.
void FileGroup::flush(Unflushed& file) {
  if (file.descriptor < 0) file.descriptor = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor < 0 && errno == ENOENT) return;
  if (file.descriptor < 0) fail("open", file.path);
  if (!synced(file.descriptor)) fail("flush", file.path);
  close_written(std::exchange(file.descriptor, -1), file.path);
}

void FileGroup::commit() {
  try {
    side_by_side(kFlushedAtOnce, to_flush_.size(), [&](std::size_t i) { flush(to_flush_[i]); });
    for (const auto& file : files_) {
      if (::rename(file.temporary.c_str(), file.path.c_str()) != 0) fail("replace", file.path);
    }
    if (!places_.empty()) flush_directories_of(places_);
  } catch (...) {
    discard();
    throw;
  }
  forget();
}

// Its names are unique: unlinking a temporary that was renamed already does nothing.
void FileGroup::discard() noexcept {
  for (const auto& file : files_) ::unlink(file.temporary.c_str());
  forget();
}

void FileGroup::forget() noexcept {
  for (const auto& file : to_flush_) {
    if (file.descriptor >= 0) ::close(file.descriptor);
  }
  files_.clear();
  to_flush_.clear();
  places_.clear();
  kept_open_ = 0;
}

void remove_temporaries(const fs::path& directory) {
  std::error_code error;  // what cannot be removed harms nobody
  for (const auto& entry : entries_of(directory)) {
    if (is_temporary(entry.path.filename().string())) fs::remove(entry.path, error);
  }
}

bool make_directory(const fs::path& path) {
  std::error_code error;
  const bool created = fs::create_directory(path, error);
  if (error) throw_unwritable("cannot create the directory " + path.string() + ": " + error.message(), error.value());
  if (created) KnownEntries::get().made(absolute_path(path));
  return created;
}

void remove_old_temporaries(const fs::path& directory) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (const auto& entry : entries_of(directory)) {
    if (!is_temporary(entry.path.filename().string())) continue;
    if (const auto written = fs::last_write_time(entry.path, error); !error && written < old) fs::remove(entry.path, error);
  }
}

bool make_directories(const fs::path& path) {
  if (path.empty()) return false;  // the parent of a name alone: the current directory
  std::error_code error;
  if (fs::create_directory(path, error)) {  // the usual case: only the last one is missing
    KnownEntries::get().made(absolute_path(path));
    return true;
  }
  const bool created = error && fs::create_directories(path, error);
  if (error) throw_unwritable("cannot create the directory " + path.string() + ": " + error.message(), error.value());
  if (created) KnownEntries::get().made_with_parents(absolute_path(path));
  return created;
}

}  // namespace ffn
