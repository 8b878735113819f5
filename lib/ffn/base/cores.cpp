#include "ffn/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace ffn {
namespace fs = std::filesystem;

namespace {

double smaller(double a, double b) { return a == 0 ? b : b == 0 ? a : std::min(a, b); }

// "max 100000" or "150000 100000": µs of processor time per µs
double quota_of_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : 0;
}

double quota_of_v1(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us"), period_file(group / "cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace

double cpu_quota(const fs::path& root, const fs::path& groups) {
  double least = 0;
  std::ifstream file(groups);
  for (std::string line; std::getline(file, line);) {  // "0::/user.slice/a.service" or "4:cpu,cpuacct:/docker/..."
    const auto controllers = line.find(':');
    const auto path = controllers == std::string::npos ? std::string::npos : line.find(':', controllers + 1);
    if (path == std::string::npos) continue;
    const std::string names = line.substr(controllers + 1, path - controllers - 1);
    const bool v2 = names.empty(), cpu = ("," + names + ",").find(",cpu,") != std::string::npos;
    if (!v2 && !cpu) continue;
    const fs::path top = v2 ? root : root / names;
    // A group's limit holds for all below it. In a container the path may be that of the host, and the top is the container's own.
    for (fs::path at = fs::path(line.substr(path + 1)).relative_path();; at = at.parent_path()) {
      least = smaller(least, v2 ? quota_of_v2(top / at) : quota_of_v1(top / at));
      if (at.empty()) break;
    }
  }
  return least;
}

std::size_t usable_cores() {
  std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0) cores = static_cast<std::size_t>(std::max(1, CPU_COUNT(&allowed)));
  const double quota = cpu_quota("/sys/fs/cgroup", "/proc/self/cgroup");
  if (quota > 0) cores = std::min(cores, static_cast<std::size_t>(std::max(1.0, std::ceil(quota))));
  return cores;
}

}  // namespace ffn
