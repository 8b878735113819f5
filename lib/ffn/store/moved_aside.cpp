#include "ffn/store/moved_aside.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/event_file.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// "seed-0" of "seed-0.old-3"; "" if the name is none of move_aside()'s (or, with kTemporaryMark, of a copy's).
std::string name_before(const std::string& name, const std::string& mark = kAsideMark) {
  const auto at = name.rfind(mark), number = at + mark.size();
  if (at == std::string::npos || at == 0 || number == name.size()) return "";
  const bool numbered =
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(number), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  return numbered ? name.substr(0, at) : "";
}

bool is_one_of(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(), [&](const char* known) { return name == known; });
}

// Files that runs and studies leave, and what is written on the way to them.
bool is_our_file(std::string name) {
  for (std::string before = name_before(name); !before.empty(); before = name_before(name)) name = before;
  if (const auto temporary = name.find(kTemporaryMark); temporary != std::string::npos) name.resize(temporary);
  return is_one_of(name, {"config.json", "meta.json", "status.json", "summary.json", "metrics.jsonl", "model.safetensors", "log.txt",
                          "state.safetensors", "study.json", "study.json.bak", "compare.json", ".lock"}) ||
         name.rfind(".at-work-", 0) == 0 || name.rfind(kEventFilePrefix, 0) == 0;
}

bool is_file(const fs::path& path) { return link_type_of(path) == fs::file_type::regular; }

// More than holds_run() and has_study_file() ask for: what may be removed has such a file of its own, and no link to one.
bool is_named_as_run_or_study(const fs::path& directory) {
  return std::any_of(std::begin(kRunFiles), std::end(kRunFiles), [&](const char* name) { return is_file(directory / name); }) ||
         is_file(study_file_path(directory)) || is_file(study_copy_path(directory));
}

template <class Read>
bool can_be_read(const fs::path& file, const Read& read) {
  try {
    return is_file(file) && read();
  } catch (const Error&) {
    return false;
  }
}

// Other programs have a status.json, too. What stepped aside is damaged: one file that can be read is enough.
bool reads_as_run_or_study(const fs::path& directory) {
  const RunDirectory run(directory);
  const auto reads_as_study = [&] { return read_study_file(directory).has_value(); };
  const auto has_keys = [](const fs::path& file, std::initializer_list<const char*> keys) {
    constexpr std::uintmax_t kMostBytes = 16 << 20;
    const Json json = parse_json(read_file(file, "file", ExitCode::data, kMostBytes));
    return json.is_object() && std::all_of(keys.begin(), keys.end(), [&](const char* key) { return json.contains(key); });
  };
  return can_be_read(run.status_path(), [&] { return read_status(directory).has_value(); }) ||
         can_be_read(run.summary_path(), [&] { return read_summary(directory).has_value(); }) ||
         can_be_read(run.config_path(),
                     [&] {
                       return run.read_config(), has_keys(run.config_path(), {"seed", "task", "model", "train"});
                     }) ||
         can_be_read(run.meta_path(),
                     [&] {
                       return has_keys(run.meta_path(), {"schema_version", "git_commit", "engine", "kernel_isa"});
                     }) ||
         can_be_read(study_file_path(directory), reads_as_study) || can_be_read(study_copy_path(directory), reads_as_study);
}

// Whether this is so of the directory or of one in it: a study's that was moved aside before its study.json was written holds runs alone.
bool any_below(const fs::path& directory, bool (*holds)(const fs::path&)) {
  return holds(directory) ||
         any_entry_below(directory, [&](const auto& entry) { return entry.type == fs::file_type::directory && holds(entry.path); });
}

std::string first_file_in(const fs::path& directory) {
  std::string first = "?";
  any_entry_below(directory, [&](const DirectoryEntry& entry) {
    if (entry.type == fs::file_type::regular) first = entry.path.lexically_relative(directory).string();
    return entry.type == fs::file_type::regular;
  });
  return first;
}

// Of something that looks as if it had been moved aside.
MovedAside moved_aside_at(const fs::path& path) {
  MovedAside out{path, bytes_below(path), foreign_in(path), any_below(path, reads_as_run_or_study)};
  if (!out.is_ours && out.foreign.empty()) out.foreign = first_file_in(path);
  return out;
}

void search(const fs::path& directory, std::vector<MovedAside>& found) {
  for (const auto& [path, type] : entries_of(directory)) {
    const std::string before = name_before(path.filename().string());
    if (type == fs::file_type::directory) {
      const std::string foreign = is_incoming_run(path.filename().string()) ? foreign_in(path) : "?";
      if (foreign.empty()) found.push_back({path, bytes_below(path), ""});
      else if (before.empty()) search(path, found);
      else if (any_below(path, is_named_as_run_or_study)) found.push_back(moved_aside_at(path));
    } else if (type == fs::file_type::regular && before == "config.json" && reads_as_run_or_study(directory)) {
      found.push_back({path, bytes_below(path), ""});
    }
  }
}

}  // namespace

bool is_no_result(const std::string& name) { return is_moved_aside(name) || is_temporary(name) || name[0] == '.'; }

fs::path incoming_path(const fs::path& run) { return run.string() + kTemporaryMark + std::to_string(::getpid()); }

std::string run_of_incoming(const std::string& name) { return seed_of_directory(name) ? name_before(name, kTemporaryMark) : ""; }

std::string foreign_in(const fs::path& directory) {
  std::string foreign;
  any_entry_below(directory, [&](const DirectoryEntry& entry) {
    const fs::path inside = entry.path.lexically_relative(directory);
    const bool of_slurm = *inside.begin() == "slurm" && is_one_of(inside.extension().string(), {".sh", ".log"});
    const bool is_named_as_ours = is_our_file(entry.path.filename().string()) || of_slurm;
    if (entry.type != fs::file_type::directory && !(entry.type == fs::file_type::regular && is_named_as_ours)) foreign = inside.string();
    return !foreign.empty();
  });
  return foreign;
}

// In the place of a run or a study: it is one, or holds runs where a study has them. One that lies deeper may be a part of anything.
bool holds_results(const fs::path& directory) {
  if (reads_as_run_or_study(directory)) return true;
  const auto is_run = [](const DirectoryEntry& entry) {
    return entry.type == fs::file_type::directory && seed_of_directory(entry.path.filename().string()) && reads_as_run_or_study(entry.path);
  };
  const auto children = entries_of(directory);  // DIR/seed-3, DIR/variant/seed-3
  return std::any_of(children.begin(), children.end(), [&](const DirectoryEntry& child) {
    if (is_run(child)) return true;
    if (child.type != fs::file_type::directory) return false;
    const auto runs = entries_of(child.path);
    return std::any_of(runs.begin(), runs.end(), is_run);
  });
}

void require_results(const fs::path& directory) {
  const bool is_directory = directory_exists(directory);
  const std::string foreign = is_directory ? foreign_in(directory) : "";
  if (is_directory && (foreign.empty() || holds_results(directory))) return;
  throw DataError(directory.string() + (is_directory ? " holds " + foreign + " and no results of ffn-train" : " is no directory") +
                      ": it is not moved aside",
                  "move it away, or choose another name= or -o");
}

fs::path move_aside(const fs::path& path) {
  int n = 1;
  while (link_type_of(path.string() + kAsideMark + std::to_string(n)) != fs::file_type::not_found) ++n;
  const fs::path aside = path.string() + kAsideMark + std::to_string(n);
  std::error_code error;
  fs::rename(path, aside, error);
  if (error) throw SystemError("cannot move " + path.string() + " to " + aside.string() + ": " + error.message());
  return aside;
}

void make_room_for_file(const fs::path& path) {
  if (link_type_of(path) == fs::file_type::directory) move_aside(path);
}

std::uintmax_t bytes_below(const fs::path& path) {
  std::error_code error;
  const auto size_of = [](const fs::path& file) {
    std::error_code unknown;
    if (!fs::is_regular_file(fs::symlink_status(file, unknown))) return std::uintmax_t{0};
    const auto bytes = fs::file_size(file, unknown);
    return unknown ? std::uintmax_t{0} : bytes;
  };
  if (!fs::is_directory(fs::symlink_status(path, error))) return size_of(path);
  std::uintmax_t bytes = 0;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) bytes += size_of(at->path());
  return bytes;
}

std::vector<MovedAside> find_moved_aside(const fs::path& directory) {
  std::vector<MovedAside> found;
  search(directory, found);
  std::sort(found.begin(), found.end(), [](const MovedAside& a, const MovedAside& b) { return a.path < b.path; });
  return found;
}

}  // namespace ffn
