// Copies of whole run directories.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

namespace ffn {

/// What lies in the way of a copy: nothing or an empty directory, or a run that gives way to it.
enum class InTheWay { nothing, lesser };

struct RunCopy {
  std::filesystem::path from, to;
};

/// The run appears whole at `to`, flushed; what gave way to it has stepped aside. Returns where that went, or nothing. Throws Error for
/// what cannot be read or written, or where something came in the way meanwhile; DiskError where the disk takes nothing more.
std::filesystem::path copy_run(const RunCopy& run, InTheWay there);

/// The same for several with nothing in their way, which are flushed together: many cost little more waiting than one. When it throws, or
/// the process is killed, each is there whole or not at all.
void copy_runs(const std::vector<RunCopy>& runs);

/// Removes what killed copies left beside runs, and nothing that holds a file of somebody else. Looks through each directory once, however
/// many runs are in it.
class KilledCopies {
 public:
  /// Those of one run. Only where nobody else copies it.
  void remove(const std::filesystem::path& run);

 private:
  using Copies = std::multimap<std::filesystem::path, std::filesystem::path>;  // run → its copy
  static Copies find_in(const std::filesystem::path& directory);

  std::map<std::filesystem::path, Copies> found_;  // by the directory
};

}  // namespace ffn
