#include "ffn/study/run_copy.hpp"

#include <unistd.h>

#include <utility>
#include <vector>

#include "ffn/core/files.hpp"
#include "ffn/record/moved_aside.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxRunFile = std::uintmax_t{8} << 30;

void read_files(const fs::path& from, const fs::path& below, std::vector<std::pair<fs::path, std::string>>& files) {
  for (const auto& entry : fs::directory_iterator(from / below)) {
    const fs::path name = below / entry.path().filename();
    if (is_no_result(entry.path().filename().string())) continue;
    if (fs::is_directory(entry.symlink_status())) read_files(from, name, files);
    else if (fs::is_regular_file(entry.symlink_status()))
      files.emplace_back(name, read_file(entry.path(), "run file", ExitCode::data, kMaxRunFile));
  }
}

}  // namespace

fs::path copy_run(const fs::path& from, const fs::path& to, InTheWay there) {
  const fs::path incoming = to.string() + ".tmp-" + std::to_string(::getpid());
  make_directories(to.parent_path());
  std::vector<std::pair<fs::path, std::string>> files;
  read_files(from, "", files);
  try {
    FileGroup group;
    for (const auto& [name, bytes] : files) {
      make_directories((incoming / name).parent_path());
      group.write(incoming / name, bytes);
    }
    group.commit();
  } catch (...) {
    std::error_code error;
    fs::remove_all(incoming, error);
    throw;
  }
  const fs::path aside = there == InTheWay::lesser ? move_aside(to) : fs::path();
  fs::rename(incoming, to);
  return aside;
}

void remove_incoming(const fs::path& run) {
  std::error_code error;  // what cannot be read or removed harms nobody
  for (const auto& entry : fs::directory_iterator(run.parent_path(), error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(run.filename().string() + ".tmp-", 0) == 0 && is_incoming_run(name) && fs::is_directory(entry.symlink_status(error))) fs::remove_all(entry.path(), error);
  }
}

}  // namespace ffn
