// Number of cores this process may use. Standard library only.
#pragma once

#include <cstddef>
#include <filesystem>

namespace ffn {

/// The cores that it may run on (taskset, a batch system's share), or fewer if a container's or a service's quota of processor time
/// (cgroup v1 or v2, rounded up) is less; 1 at least.
std::size_t usable_cores();

/// The quota alone, as read below `root` for a process whose /proc/self/cgroup is `groups`; 0 without one.
double cpu_quota(const std::filesystem::path& root, const std::filesystem::path& groups);

}  // namespace ffn
