#include "ffn/store/cleanup.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <system_error>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/store/note_file.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/seen_runs.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

bool holds_results(const fs::path& directory) {
  return holds_run(directory) || has_study_file(directory) || any_entry_below(directory, [](const DirectoryEntry& entry) {
           return entry.type == fs::file_type::directory &&
                  (is_run_directory_name(entry.path.filename().string()) || holds_run(entry.path));
         });
}

namespace {

constexpr const char* kRemovedMark = ".removed-";  // hidden: what a killed clean leaves is found by its name

// Whether a name is something's with one of our marks and a number behind it: "xor.old-3", "run.json.tmp-4711-0".
bool is_marked(const std::string& name, std::initializer_list<const char*> marks) {
  return std::any_of(marks.begin(), marks.end(), [&](const std::string& mark) {
    const auto at = name.rfind(mark);
    const auto number = at + mark.size();
    return at != std::string::npos && at > 0 && number < name.size() && name.find_first_not_of("0123456789-", number) == std::string::npos;
  });
}

// Job script and logs of a study's Slurm directory: "xor.sh", "41_2.log", "compare-42.log".
bool is_slurm_file(const fs::path& file) {
  return file.extension() == ".log" || file.filename() == file.parent_path().parent_path().filename().string() + ".sh";
}

// With or without a mark behind it.
bool has_run_name(const fs::path& directory) {
  const std::string name = directory.filename().string();
  return is_run_directory_name(is_no_result(name) ? name.substr(0, name.rfind('.')) : name);
}

// By its name and place; by its beginning, too, where people may have a file of that name.
bool is_our_file(const fs::path& file) {
  static const std::set<std::string> kOfRuns = {"run.json",         "metrics.jsonl",          "model.safetensors",
                                                "best.safetensors", "checkpoint.safetensors", kCommandFiles[0],
                                                kCommandFiles[1],   kCommandFiles[2]};
  static const std::set<std::string> kOurs = {"study.json", "log.txt", kNoteFile, ".lock"};
  static const std::map<std::string, FileKind> kKinds = {{"compare.json", kComparisonFile},
                                                         {"runs.csv", kRunsTable},
                                                         {"curves.csv", kRunsTable},
                                                         {"compare.csv", kAnswerTable},
                                                         {"report.html", {"report", kPageMark}}};
  const std::string name = file.filename().string(), base = name.substr(0, std::min(name.find(kTemporaryMark), name.find(kDamagedMark)));
  if (base == kSeenFile) return base != name;  // it outlives what it tells of
  if (const auto kind = kKinds.find(base); kind != kKinds.end()) return base != name || is_of(kind->second, file);
  const fs::path place = file.parent_path();
  const bool is_of_run = kOfRuns.count(base) > 0 && (base != name || has_run_name(place) || holds_run(place));
  return is_of_run || kOurs.count(base) > 0;
}

// In the output directory of a run of a program.
bool is_output(const fs::path& path) {
  for (fs::path at = path; at.has_relative_path(); at = at.parent_path()) {
    const RunDirectory run(at.parent_path());
    if (at == run.output_path() && has_run_name(run.path()) && path_exists(run.path() / kCommandFiles[1])) return true;
  }
  return false;
}

bool may_be_removed(const DirectoryEntry& entry) {
  const std::string name = entry.path.filename().string();
  if (entry.type == fs::file_type::regular) return is_marked(name, {kTemporaryMark, kDamagedMark}) && is_our_file(entry.path);
  if (entry.type != fs::file_type::directory) return false;
  if (name.rfind(kRemovedMark, 0) == 0) return true;
  if (is_marked(name, {kTemporaryMark, kDamagedMark}) && is_run_directory_name(name.substr(0, name.rfind('.')))) return true;
  // A person may call a directory so, too.
  return is_marked(name, {kAsideMark}) && (is_run_directory_name(name.substr(0, name.rfind('.'))) || holds_results(entry.path));
}

void search(const fs::path& directory, std::vector<Leftover>& found) {
  for (const auto& entry : entries_of(directory)) {
    if (may_be_removed(entry))
      found.push_back({entry.path, bytes_below(entry.path), entry.type == fs::file_type::directory ? foreign_in(entry.path) : ""});
    else if (entry.type == fs::file_type::directory) search(entry.path, found);
  }
}

void remove_or_throw(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) throw SystemError("cannot remove " + path.string() + ": " + error.message());
}

// `exported`: a directory of logs, whose directories are all ours.
void take_entries(const fs::path& directory, bool exported, Removal& out) {
  std::vector<fs::path> files;  // after what is below: a removal that was killed leaves a study's directory, and the same command goes on
  for (const auto& entry : entries_of(directory)) {
    const std::string name = entry.path.filename().string();
    const bool exports = exported || name == kSlurmDirectory;
    if (entry.type == fs::file_type::directory &&
        (exports || is_output(entry.path) || entries_of(entry.path).empty() || is_results_directory(entry.path))) {
      take_entries(entry.path, exports, out);
    } else if (name == ".lock" || name == ".tuning.lock") {
      out.files.push_back(entry.path);  // alone it would say nothing of whose directory this is
    } else if (is_output(entry.path) || (entry.type == fs::file_type::regular &&
                                         (directory.filename() == kSlurmDirectory ? is_slurm_file(entry.path) : is_our_file(entry.path)))) {
      files.push_back(entry.path);
    } else {
      out.others.push_back(entry.path);
    }
  }
  for (const auto& file : files) out.bytes += bytes_below(file);
  out.files.insert(out.files.end(), files.begin(), files.end());
  out.directories.push_back(directory);
  if (holds_run(directory)) out.runs.push_back(directory);
}

bool holds_runs(const DirectoryEntry& directory) {
  const auto entries = directory.type == fs::file_type::directory ? entries_of(directory.path) : std::vector<DirectoryEntry>();
  return std::any_of(entries.begin(), entries.end(), [](const DirectoryEntry& entry) {
    return entry.type == fs::file_type::directory && is_run_directory_name(entry.path.filename().string());
  });
}

}  // namespace

bool is_results_directory(const fs::path& directory) {
  if (has_run_name(directory)) return true;
  try {  // a person's files may be called run.json and study.json, too
    if (read_record(directory) || read_study_file(directory)) return true;
  } catch (const DataError&) {
    const auto variants = entries_of(directory);
    if (has_study_file(directory) && std::any_of(variants.begin(), variants.end(), holds_runs)) return true;
  }
  return holds_runs({directory, fs::file_type::directory});
}

Removal removal_of(const fs::path& directory) {
  Removal out;
  take_entries(directory, false, out);
  return out;
}

void remove_results(const Removal& removal) {
  // study.json last of all, so that a removal that was killed can go on.
  const std::set<fs::path> ours(removal.directories.begin(), removal.directories.end());
  for (const auto& file : removal.files) {
    remove_or_throw(file);
    for (fs::path at = file.parent_path(); ours.count(at) > 0 && entries_of(at).empty(); at = at.parent_path()) remove_or_throw(at);
  }
  for (const auto& directory : removal.directories) {
    if (directory_exists(directory) && entries_of(directory).empty()) remove_or_throw(directory);
  }
  const fs::path around = removal.directories.back().parent_path();
  if (const auto left = entries_of(around); left.size() == 1 && left[0].path.filename() == ".lock") {  // of its last run
    remove_or_throw(left[0].path);
    remove_or_throw(around);
  }
}

fs::path move_aside(const fs::path& path, const std::string& mark) {
  int n = 1;
  while (link_type_of(path.string() + mark + std::to_string(n)) != fs::file_type::not_found) ++n;
  const fs::path aside = path.string() + mark + std::to_string(n);
  std::error_code error;
  fs::rename(path, aside, error);
  if (error) throw SystemError("cannot rename " + path.string() + " to " + aside.string() + ": " + error.message());
  return aside;
}

std::vector<Leftover> find_leftovers(const fs::path& directory) {
  std::vector<Leftover> found;
  search(directory, found);
  std::sort(found.begin(), found.end(), [](const Leftover& a, const Leftover& b) { return a.path < b.path; });
  return found;
}

void remove_leftover(const fs::path& path) {
  fs::path doomed = path;
  std::error_code error;
  if (path.filename().string().rfind(kRemovedMark, 0) != 0) {
    doomed = path.parent_path() / (kRemovedMark + path.filename().string());
    fs::rename(path, doomed, error);
  }
  if (!error) fs::remove_all(doomed, error);
  if (error) throw SystemError("cannot remove " + path.string() + ": " + error.message());
}

std::string foreign_in(const fs::path& directory) {
  std::string foreign;
  any_entry_below(directory, [&](const DirectoryEntry& entry) {
    const fs::path inside = entry.path.lexically_relative(directory);
    const bool is_ours =
        is_output(entry.path) || (entry.type == fs::file_type::regular &&
                                  (*inside.begin() == kSlurmDirectory ? is_slurm_file(entry.path) : is_our_file(entry.path)));
    if (entry.type != fs::file_type::directory && !is_ours) foreign = inside.string();
    return !foreign.empty();
  });
  return foreign;
}

std::uintmax_t bytes_below(const fs::path& path) {
  std::uintmax_t bytes = 0;
  const auto add = [&](const DirectoryEntry& entry) {
    std::error_code error;
    const auto size = entry.type == fs::file_type::regular ? fs::file_size(entry.path, error) : 0;
    if (error && error != std::errc::no_such_file_or_directory)  // a temporary may be gone
      throw ReadError("cannot read " + entry.path.string() + ": " + error.message());
    bytes += error ? 0 : size;
    return false;
  };
  if (const auto type = link_type_of(path); type == fs::file_type::directory) any_entry_below(path, add);
  else add({path, type});
  return bytes;
}

}  // namespace ffn
