#include "ffn/base/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "ffn/base/descriptor.hpp"

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
  const auto too_large = [&] { refuse(code, name + " is larger than " + size_text(max_bytes) + "; expected a " + what); };
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
std::optional<std::string> read_path(const fs::path& path, const std::string& what, ExitCode code, std::uintmax_t max_bytes,
                                     bool any_kind) {
  const std::string name = path.string();
  const auto cannot = [&](int reason) { refuse_to_read(code, name, what, reason); };
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (!means_absent(errno) || errno == ENAMETOOLONG) cannot(errno);
    if (::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode))
      refuse(code, name + " is a link to a file that is not there", "bring back what it points to, or remove the link");
    return std::nullopt;
  }
  const auto check = [&] {
    if (S_ISDIR(status.st_mode)) refuse(code, name + " is a directory, not a " + what);
    if (!any_kind && !S_ISREG(status.st_mode))
      refuse(code, name + " is " + kind_of(status.st_mode) + "; a " + what + " has to be a regular file");
  };
  check();
  // Not to wait for a writer, should a pipe take the file's place now, or for what the kernel has yet to say (/proc/kmsg).
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | (S_ISREG(status.st_mode) ? O_NONBLOCK : 0)));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;  // removed or replaced in between
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) cannot(errno);
  check();
  return read_whole(file.get(), S_ISREG(status.st_mode) ? static_cast<std::uintmax_t>(status.st_size) : 0, name, what, code, max_bytes);
}

std::string or_refuse(std::optional<std::string> text, const fs::path& path, const std::string& what, ExitCode code) {
  const fs::path data = path.parent_path(), studies = data.parent_path();  // data of shipped studies are not in the repository
  const bool is_unpacked = data.filename() == "data" && studies.parent_path().filename() == "experiments";
  if (!text)
    refuse(code, "no " + what + " at " + path.string(),
           is_unpacked ? "in the checkout: python3 scripts/experimenting/" + studies.filename().string() + ".py"
                       : "check the path; relative paths start at " + current_directory().string());
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
  throw ReadError("cannot read " + (path.empty() ? "the current directory" : path.string()) + ": " + std::strerror(reason));
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

}  // namespace ffn
