#include "ffn/study/merge.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/note_file.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/study_lock.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// Runs of a study and of its tuning, as LABEL/seed-K.IDENTITY. No link is followed.
void find_runs_within(const fs::path& study, const fs::path& below, std::vector<fs::path>& out) {
  for (const auto& [path, type] : entries_of(study / below)) {
    const std::string name = path.filename().string();
    if (type != fs::file_type::directory || is_no_result(name)) continue;
    if (is_run_directory_name(name)) out.push_back(below / name);
    else find_runs_within(study, below / name, out);
  }
}

// Bit for bit, so that NaN equals itself. Times are no result.
std::string result_of(const RunSummary& summary) {
  const Json all = summary_json(summary);
  return dump_json({all["end"], all["steps"], all["metrics"]});
}

}  // namespace

MergeResult merge_studies(std::vector<fs::path> parts, const fs::path& target) {
  MergeResult result;
  const auto there = entries_of(target);
  if (!has_study_file(target) && !std::all_of(there.begin(), there.end(), [](const auto& e) { return is_no_result(e.path.filename()); }))
    throw DataError(target.string() + " is not empty and no study's directory", "merge into a directory that does not exist yet");
  if (has_study_file(target)) parts.insert(parts.begin(), target);  // of two equal results its own stays
  Json study;
  std::string problems;
  std::map<fs::path, std::pair<fs::path, RunSummary>> found;  // by its place within the study: where a run lies, and its result
  for (const auto& part : parts) {
    const Json json = read_study_json(part);
    if (!study.is_null() && json["declaration"] != study["declaration"])
      throw DataError(parts[0].string() + " and " + part.string() + " are different studies: their questions or runs differ",
                      "only parts of one study can be merged; `ffn-train compare A B` looks at several studies");
    if (study.is_null() || json["seeds"].size() > study["seeds"].size()) study = json;  // the sequential design that has come furthest
    std::vector<fs::path> runs;
    find_runs_within(part, "", runs);
    for (const auto& run : runs) {
      const fs::path path = part / run;
      const auto check = check_run(RunDirectory(path));
      if (!check.is_whole()) {
        result.notes.push_back(path.string() + ": " + (check.damage.empty() ? "not finished" : join(check.damage, "; ")) + "; left out");
        continue;
      }
      const auto [known, is_new] = found.insert({run, {path, *check.record->summary}});
      const auto& [other, summary] = known->second;
      if (!is_new && result_of(summary) != result_of(*check.record->summary))
        problems += "\n  " + other.string() + " (" + join(summary.computed_by) + ") and " + path.string() + " (" +
                    join(check.record->summary->computed_by) + "): their results differ";
    }
  }
  if (!problems.empty())
    throw DataError("these do not fit together; nothing was copied:" + problems, "`ffn-train compare` looks at each by itself");

  const auto lock = lock_study(fs::weakly_canonical(target), LockFile::Hold::alone);
  make_directories(target);
  write_study_file(target, study);  // before any run: a merge that was killed says what it lacks, and the same command goes on
  FileGroup files;
  for (const auto& [run, place] : found) {
    const fs::path &from = place.first, to = target / run;
    if (from == to) continue;
    if (check_run(RunDirectory(to)).verdict != RunCheck::Verdict::absent)
      result.notes.push_back(to.string() + ": renamed to " + move_aside(to).string());
    make_directories(to);
    std::vector<std::string> names;
    for (const auto& [name, facts] : place.second.files) names.push_back(name);
    names.emplace_back("run.json");  // last: a copy that was killed holds no run
    for (const auto& name : names) files.write(to / name, read_file(from / name, "file", ExitCode::data, std::uintmax_t{1} << 36));
    if (++result.copied % 64 == 0) files.commit();
  }
  files.commit();
  for (const auto& part : parts) {
    add_to_note(target, read_note(part));
    for (const auto& [run, place] : found) add_to_note(target / run, read_note(part / run));
  }
  for (const auto& run : read_study_file(target)->run_directories(target)) {
    ++result.planned;
    result.finished += found.count(run.lexically_relative(target));
  }
  return result;
}

}  // namespace ffn
