#include "ffn/study/beacon.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "ffn/base/files.hpp"
#include "ffn/store/run_files.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr const char* kPrefix = ".at-work-";
constexpr std::chrono::seconds kInterval(2);

// Where process ids mean the same processes: this boot of this machine, this container.
std::string machine() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  in >> boot;
  std::error_code error;
  return boot + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
}

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);  // anew each time: a network file system looks for changes when a file is opened
  char text[256] = {};
  in.read(text, sizeof text - 1);
  return text;
}

// Regular files alone, and not our own.
std::map<fs::path, std::string> others(const fs::path& own) {
  std::map<fs::path, std::string> found;
  for (const auto& [path, type] : entries_of(own.parent_path())) {
    const bool beacon = path.filename().string().rfind(kPrefix, 0) == 0 && path != own;
    if (beacon && type == fs::file_type::regular) found[path] = content(path);
  }
  return found;
}

}  // namespace

Beacon::Beacon(const fs::path& directory)
    : path_(directory / (kPrefix + host_name() + "-" + std::to_string(::getpid()))), machine_(machine()), pid_(::getpid()) {
  make_directories(directory);
  // Left by a process that had our number: it is ours now.
  const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) throw SystemError("cannot create " + path_.string() + ": " + std::strerror(errno));
  ::close(fd);
  write();
}

Beacon::~Beacon() {
  if (::getpid() == pid_) ::unlink(path_.c_str());
}

void Beacon::write() {
  last_ = std::chrono::steady_clock::now();
  const int fd = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  const std::string text = machine_ + "\n" + std::to_string(pid_) + "\n" + std::to_string(++beats_) + "\n";
  [[maybe_unused]] const auto written = ::write(fd, text.data(), text.size());  // a full disk ends the study elsewhere
  ::close(fd);
}

void Beacon::beat() {
  if (::getpid() == pid_ && std::chrono::steady_clock::now() - last_ >= kInterval) write();
}

std::string Beacon::other_alive(std::chrono::milliseconds patience) {
  auto before = others(path_);
  std::error_code error;
  for (auto at = before.begin(); at != before.end();) {
    const auto& [path, text] = *at;
    const bool here = text.rfind(machine_ + "\n", 0) == 0;
    const pid_t pid = here ? static_cast<pid_t>(std::atol(text.c_str() + machine_.size() + 1)) : 0;
    const bool dead = pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
    if (dead) fs::remove(path, error);
    at = dead ? before.erase(at) : std::next(at);
  }
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!before.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    beat();
    const auto now = others(path_);
    for (const auto& [path, text] : before) {
      const auto at = now.find(path);
      if (at != now.end() && at->second != text && !at->second.empty()) return path.filename().string().substr(std::strlen(kPrefix));
    }
  }
  for (const auto& [path, text] : before) fs::remove(path, error);
  return "";
}

}  // namespace ffn
