#include "ffn/study/run_copy.hpp"

#include <string>
#include <utility>

#include "ffn/base/disk_error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxRunFile = std::uintmax_t{8} << 30;

// A link of a run's own leads to its checkpoint's directory or to a file; another's may lead anywhere.
bool is_run_files_directory(const DirectoryEntry& entry, const fs::path& within) {
  return directory_exists(entry.path) &&
         (entry.type != fs::file_type::symlink || within == RunDirectory("").checkpoint_path().parent_path());
}

void read_files(const fs::path& from, const fs::path& below, std::vector<std::pair<fs::path, std::string>>& files) {
  for (const auto& entry : entries_of(from / below)) {
    const fs::path name = below / entry.path.filename();
    if (is_no_result(name.filename().string())) continue;
    if (is_run_files_directory(entry, name)) read_files(from, name, files);
    else if (type_of(entry.path) == fs::file_type::regular)
      files.emplace_back(name, read_file(entry.path, "run file", ExitCode::data, kMaxRunFile));
  }
}

void write_incoming(const RunCopy& run, FileGroup& group) {
  const fs::path incoming = incoming_path(run.to);
  make_directories(run.to.parent_path());
  std::vector<std::pair<fs::path, std::string>> files;
  read_files(run.from, "", files);
  for (const auto& [name, bytes] : files) {
    make_directories((incoming / name).parent_path());
    group.write(incoming / name, bytes);
  }
}

void discard_incoming(const std::vector<RunCopy>& runs) {
  std::error_code error;
  for (const auto& run : runs) fs::remove_all(incoming_path(run.to), error);
}

// All of them, on disk.
void write_incoming(const std::vector<RunCopy>& runs) {
  for (const auto& run : runs) {  // what KilledCopies left alone, of an earlier process that had this one's number
    if (link_type_of(incoming_path(run.to)) != fs::file_type::not_found)
      throw DataError(incoming_path(run.to).string() + " is in the way", "move it away");
  }
  try {
    FileGroup group;
    for (const auto& run : runs) write_incoming(run, group);
    group.commit();
  } catch (...) {
    discard_incoming(runs);
    throw;
  }
}

void let_appear(const RunCopy& run) {
  const fs::path incoming = incoming_path(run.to);
  std::error_code error;
  fs::rename(incoming, run.to, error);
  if (error)
    throw_unwritable("cannot rename " + incoming.string() + " to " + run.to.filename().string() + ": " + error.message(), error.value());
}

}  // namespace

fs::path copy_run(const RunCopy& run, InTheWay there) {
  write_incoming({run});
  try {
    const fs::path aside = there == InTheWay::lesser ? move_aside(run.to) : fs::path();
    let_appear(run);
    return aside;
  } catch (...) {
    discard_incoming({run});
    throw;
  }
}

void copy_runs(const std::vector<RunCopy>& runs) {
  write_incoming(runs);
  try {
    for (const auto& run : runs) let_appear(run);
  } catch (...) {
    discard_incoming(runs);
    throw;
  }
}

KilledCopies::Copies KilledCopies::find_in(const fs::path& directory) {
  Copies copies;
  for (const auto& [path, type] : entries_of(directory)) {
    const std::string run = run_of_incoming(path.filename().string());
    if (!run.empty() && type == fs::file_type::directory) copies.emplace(directory / run, path);
  }
  return copies;
}

void KilledCopies::remove(const fs::path& run) {
  const fs::path directory = run.parent_path();
  auto known = found_.find(directory);
  if (known == found_.end()) known = found_.emplace(directory, find_in(directory)).first;
  std::error_code error;
  const auto [first, last] = known->second.equal_range(run);
  for (auto copy = first; copy != last; ++copy) {
    if (foreign_in(copy->second).empty()) fs::remove_all(copy->second, error);
  }
}

}  // namespace ffn
