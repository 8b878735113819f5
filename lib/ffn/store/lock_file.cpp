#include "ffn/store/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "ffn/base/disk_error.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

bool without_locks = false;

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

// Of the open file, not of the process as with F_SETLK: two locks of one process exclude each other, too.
struct flock lock_of(short type, std::int64_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(byte);
  lock.l_len = 1;
  return lock;
}

}  // namespace

// Whoever is alone can say so, and whoever is not has to divide the work by another means.
const char* const kWithoutLocksHint =
    "results can go elsewhere with -o DIR; or divide the study among processes that need no locks with --shard i/n: "
    "--shard 1/1 if no other process works in this directory";

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
  if (without_locks) return true;
  throw SystemError("the file system of " + path_.parent_path().string() + " has no locks (" + std::strerror(reason) +
                        "), without which two " + "processes may train the same run",
                    kWithoutLocksHint);
}

bool is_locked(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct flock lock = lock_of(F_WRLCK, 0);
  return file.is_open() && ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

void do_without_locks() { without_locks = true; }

bool locks_are_needed() { return !without_locks; }

// ---- the mount table

namespace {

struct Mount {
  fs::path point;
  std::string type;
  std::vector<std::string> options;

  bool has(const std::string& option) const { return std::find(options.begin(), options.end(), option) != options.end(); }
};

// Spaces and the like are written as \040 there.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::strtol(text.substr(i + 1, 3).c_str(), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

void add_options(const std::string& list, std::vector<std::string>& options) {
  std::istringstream in(list);
  for (std::string option; std::getline(in, option, ',');) options.push_back(option);
}

bool is_below(const fs::path& path, const fs::path& point) {
  auto a = path.begin();
  for (const auto& part : point) {
    if (part.empty()) continue;  // behind the slash of the root
    if (a == path.end() || *a != part) return false;
    ++a;
  }
  return true;
}

// proc_pid_mountinfo(5): id parent major:minor root POINT OPTIONS tags… - TYPE source OPTIONS
Mount mount_of(const std::string& mountinfo, const fs::path& canonical) {
  Mount found;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped, point, options, type, more;
    words >> skipped >> skipped >> skipped >> skipped >> point >> options;
    while (words >> skipped && skipped != "-") continue;
    words >> type >> skipped >> more;
    const fs::path at = unescaped(point);
    // The deepest one; of those at one place the last, which covers the others.
    if (type.empty() || !is_below(canonical, at) || at.string().size() < found.point.string().size()) continue;
    found = {at, type, {}};
    add_options(options, found.options);
    add_options(more, found.options);
  }
  return found;
}

}  // namespace

LockReach lock_reach(const std::string& mountinfo, const fs::path& canonical) {
  const Mount mount = mount_of(mountinfo, canonical);
  // Where fcntl() locks stay on the machine: nfs(5), mount.lustre(8), mount.cifs(8). sshfs and VirtualBox tell nobody.
  static const std::pair<const char*, const char*> kLocal[] = {
      {"nfs", "nolock"},        {"nfs", "local_lock=all"},  {"nfs", "local_lock=posix"},
      {"nfs4", "nolock"},       {"nfs4", "local_lock=all"}, {"nfs4", "local_lock=posix"},
      {"lustre", "localflock"}, {"lustre", "noflock"},      {"cifs", "nobrl"},
      {"smb3", "nobrl"},        {"fuse.sshfs", ""},         {"vboxsf", ""}};
  LockReach reach;
  std::string with;
  for (const auto& [type, option] : kLocal) {
    if (mount.type != type || reach.one_machine) continue;
    reach.one_machine = *option == '\0' || mount.has(option);
    if (reach.one_machine && *option != '\0') with = std::string(" with ") + option;
  }
  reach.mount = mount.type + with + " on " + mount.point.string();
  return reach;
}

LockReach lock_reach(const fs::path& path) {
  std::error_code error;
  fs::path nearest = fs::absolute(path, error);
  while (!fs::exists(nearest, error) && nearest.has_relative_path()) nearest = nearest.parent_path();
  const fs::path canonical = fs::canonical(nearest, error);
  std::ifstream in("/proc/self/mountinfo");
  if (error || !in) return {};
  return lock_reach(std::string(std::istreambuf_iterator<char>(in), {}), canonical);
}

}  // namespace ffn
