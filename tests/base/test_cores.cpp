// How many processors a quota leaves.
#include "ffn/base/cores.hpp"
#include "helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

TEST_CASE("the smallest quota on the way up counts, of cgroup v2 and v1", "[core]") {
  const test::ScratchDirectory scratch;
  const auto root = scratch.path() / "cgroup";
  std::filesystem::create_directories(root / "a/b");
  std::filesystem::create_directories(root / "cpu,cpuacct/x");
  const auto write = [&](const char* name, const std::string& text) { return scratch.write(name, text); };
  const auto groups = write("groups", "0::/a/b\n");
  CHECK(cpu_quota(root, groups) == 0);
  write("cgroup/a/b/cpu.max", "max 100000\n");
  CHECK(cpu_quota(root, groups) == 0);
  write("cgroup/a/cpu.max", "150000 100000\n");
  CHECK(cpu_quota(root, groups) == 1.5);
  write("cgroup/a/b/cpu.max", "400000 100000\n");
  CHECK(cpu_quota(root, groups) == 1.5);
  write("cgroup/cpu.max", "50000 100000\n");
  CHECK(cpu_quota(root, groups) == 0.5);
  const auto old = write("old", "3:memory:/x\n4:cpu,cpuacct:/x\n");
  CHECK(cpu_quota(root, old) == 0);
  write("cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  write("cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  CHECK(cpu_quota(root, old) == 0);
  write("cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "300000\n");
  CHECK(cpu_quota(root, old) == 3);
  CHECK(cpu_quota(root, scratch.path() / "missing") == 0);
  CHECK(usable_cores() >= 1);
}
