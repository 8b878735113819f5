#include "ffn/study/merge.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/event_file.hpp"
#include "ffn/store/note_file.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/study_lock.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxMergedBytes = std::uintmax_t{1} << 36;

/// A study's directory and what its study.json says.
struct Part {
  fs::path directory;
  StudyFile file;
};

Part read_part(const fs::path& directory) {
  auto file = read_study_file(directory);
  if (!file) throw DataError(directory.string() + " is no study's directory: there is no study.json");
  return {directory, std::move(*file)};
}

// Where two studies differ first; empty if they are one. A sequential design may have come further in one of them.
std::string difference_of(const StudyFile& a, const StudyFile& b) {
  if (a.variants.size() != b.variants.size()) return "the variants";
  if (write_json(a.compare) != write_json(b.compare)) return "compare";
  if (a.sequential.has_value() != b.sequential.has_value() || (!a.sequential && a.seeds != b.seeds)) return "the seeds";
  for (std::size_t v = 0; v < a.variants.size(); ++v) {
    const auto &x = a.variants[v], &y = b.variants[v];
    if (x.name != y.name) return "the variants (" + x.name + " and " + y.name + ")";
    const auto shared = static_cast<std::ptrdiff_t>(std::min(x.identities.size(), y.identities.size()));
    if (!std::equal(x.identities.begin(), x.identities.begin() + shared, y.identities.begin())) return "the config of " + x.name;
  }
  return "";
}

bool is_ahead_of(const StudyFile& a, const StudyFile& b) {
  return a.seeds.size() > b.seeds.size() || (a.sequential && a.sequential->sample_sizes.size() > b.sequential->sample_sizes.size());
}

// The study.json of the part that has come furthest.
Json merged_study(const std::vector<Part>& parts) {
  const Part* furthest = &parts[0];
  for (const auto& part : parts) {
    if (is_ahead_of(part.file, furthest->file)) furthest = &part;
  }
  return read_study_json(furthest->directory);
}

// ---- one run's copy in one directory

struct Copy {
  fs::path directory;  ///< of the run
  std::size_t source;  ///< index into the directories
  RunRecord record;
};

// Of two finished ones, the one that kept more: curves and weights, its state.
bool is_better(const Copy& a, const Copy& b) {
  if (a.record.summary.has_value() != b.record.summary.has_value()) return a.record.summary.has_value();
  if (a.record.summary) return a.record.summary->files.size() > b.record.summary->files.size();
  return a.record.step > b.record.step;
}

// Runs within a study's directory, as LABEL/seed-K.IDENTITY; those of its tuning, too. No link is followed.
std::vector<fs::path> runs_within(const fs::path& study, std::vector<std::string>& notes) {
  std::vector<fs::path> out;
  const auto search = [&](const fs::path& below, int depth, const auto& self) -> void {
    for (const auto& [path, type] : entries_of(study / below)) {
      const std::string name = path.filename().string();
      if (is_no_result(name)) continue;
      if (type == fs::file_type::symlink) notes.push_back(path.string() + ": a link; it is not followed");
      if (type != fs::file_type::directory) continue;
      if (is_run_directory_name(name)) out.push_back(below / name);
      else if (depth < 2) self(below / name, depth + 1, self);
    }
  };
  search("", 0, search);
  return out;
}

// Bit for bit, so that NaN equals itself. Times are no result.
bool same_metrics(const RunSummary& a, const RunSummary& b) {
  const auto results = [](const RunSummary& summary) { return dump_json(summary_json(summary)["metrics"]); };
  return results(a) == results(b);
}

// Files of the same tensors have them in the same order.
bool same_weights(const fs::path& a, const fs::path& b) {
  const auto left = read_safetensors(RunDirectory(a).weights_path()), right = read_safetensors(RunDirectory(b).weights_path());
  const auto same_tensor = [](const TensorData& x, const TensorData& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.bytes == y.bytes;
  };
  return std::equal(left.tensors.begin(), left.tensors.end(), right.tensors.begin(), right.tensors.end(), same_tensor);
}

std::string engines_of(const RunSummary& summary) { return join(summary.computed_by, ", then "); }

// What is different about two finished copies of one run; empty if they are the same result.
std::string contradiction(const Copy& a, const Copy& b) {
  const RunSummary &x = *a.record.summary, &y = *b.record.summary;
  std::string what;
  if (x.end != y.end || x.steps != y.steps) what = "they ended differently";
  else if (!same_metrics(x, y)) what = "their metrics differ";
  else if (!x.files.empty() && !y.files.empty() && !same_weights(a.directory, b.directory)) what = "their weights differ";
  if (!what.empty() && engines_of(x) != engines_of(y)) what += " (computed by " + engines_of(x) + " and by " + engines_of(y) + ")";
  return what;
}

using BestCopies = std::map<fs::path, Copy>;  // by the run's place within the study

// Of what lies in the directories. Two different results of one run are added to `problems`.
BestCopies best_copies(const std::vector<Part>& parts, std::vector<std::string>& notes, std::string& problems) {
  BestCopies best;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    for (const auto& run : runs_within(parts[i].directory, notes)) {
      const fs::path path = parts[i].directory / run;
      auto check = check_run_closely(RunDirectory(path));
      if (check.verdict == RunCheck::Verdict::unreadable) throw ReadError(join(check.damage, "; "));
      if (!check.damage.empty()) notes.push_back(path.string() + ": " + join(check.damage, "; ") + "; this copy is left out");
      if (!check.damage.empty() || !check.record) continue;
      Copy copy{path, i, std::move(*check.record)};
      const auto [known, is_new] = best.emplace(run, copy);
      if (is_new) continue;
      Copy& other = known->second;
      std::string what;
      if (other.record.identity != copy.record.identity) what = "they are runs of different configs";
      else if (other.record.summary && copy.record.summary) what = contradiction(other, copy);
      if (!what.empty()) problems += "\n  " + other.directory.string() + " and " + path.string() + ": " + what;
      if (is_better(copy, other)) other = std::move(copy);
    }
  }
  return best;
}

// The run's own files, run.json last: a copy that was killed holds no run.
void copy_run(const fs::path& from, const fs::path& to, FileGroup& files) {
  make_directories(to);
  const auto copy = [&](const fs::path& name) {
    if (link_type_of(from / name) == fs::file_type::regular)
      files.write(to / name, read_file(from / name, "file", ExitCode::data, kMaxMergedBytes));
  };
  for (const auto& entry : entries_of(from)) {
    if (entry.path.filename().string().rfind(kEventFilePrefix, 0) == 0) copy(entry.path.filename());
  }
  const RunDirectory run(from);
  for (const auto& file : {run.metrics_path(), run.weights_path(), run.best_path(), run.checkpoint_path(), run.record_path()})
    copy(file.filename());
}

std::string version_of(const RunRecord& record) {
  if (record.sessions->empty()) return "unknown";
  const Json& last = record.sessions->back();
  return last.value("version", std::string("?")) + " (" + last.value("git_commit", std::string("?")) + ")";
}

}  // namespace

bool is_within(const fs::path& inner, const fs::path& outer) {
  const auto relative = fs::weakly_canonical(inner).lexically_relative(fs::weakly_canonical(outer));
  return !relative.empty() && *relative.begin() != "..";
}

MergeResult merge_studies(const std::vector<fs::path>& sources, const fs::path& given_target) {
  const fs::path target = given_target.has_filename() ? given_target : given_target.parent_path();
  MergeResult result;
  const bool exists = path_exists(target) && has_study_file(target);
  const auto entries = exists ? std::vector<DirectoryEntry>() : entries_of(target);  // what a merge that was killed left counts for nothing
  if (!std::all_of(entries.begin(), entries.end(), [](const auto& entry) { return is_temporary(entry.path.filename().string()); }))
    throw DataError(target.string() + " is not empty and no study's directory", "merge into a directory that does not exist yet");
  std::vector<Part> parts;  // the target takes part like a source, and first: of two equal copies its own stays
  if (exists) parts.push_back(read_part(target));
  for (const auto& source : sources) {
    if (is_within(target, source) || is_within(source, target))
      throw UsageError(target.string() + " and " + source.string() + " lie in each other", "merge into a directory of its own");
    if (is_study_locked(fs::weakly_canonical(source)))
      throw Error(ExitCode::interrupted, "another process is at work in " + source.string(), "merge when it has ended");
    parts.push_back(read_part(source));
    if (const std::string what = difference_of(parts[0].file, parts.back().file); !what.empty())
      throw DataError(parts[0].directory.string() + " and " + source.string() + " are different studies: " + what + " differ in study.json",
                      "only parts of one study can be merged; `ffn-train compare A B` looks at several studies");
  }
  std::string problems;
  const BestCopies best = best_copies(parts, result.notes, problems);
  if (!problems.empty())
    throw DataError("these do not fit together; nothing was copied:" + problems, "`ffn-train compare` looks at each by itself");

  const auto lock = lock_study(fs::weakly_canonical(target), LockFile::Hold::alone);
  make_directories(target);
  remove_temporaries(target);  // of a merge that was killed
  for (const auto& [run, copy] : best) remove_temporaries(target / run);
  // Before any run: whoever looks at a merge that was killed is told what it lacks, and the same command goes on.
  const Json study = merged_study(parts);
  write_study_file(target, study);
  constexpr std::size_t kAtOnce = 64;  // runs that are flushed together
  FileGroup files;
  std::size_t waiting = 0;
  for (const auto& [run, copy] : best) {
    if (!exists || copy.source > 0) {
      const RunDirectory there(target / run);
      if (check_run(there).verdict != RunCheck::Verdict::absent)
        result.notes.push_back(there.path().string() + ": " + copy.directory.string() + " has the better copy; renamed to " +
                               move_aside(there.path()).string());
      copy_run(copy.directory, there.path(), files);
      ++result.copied[parts[copy.source].directory.string()];
      if (++waiting % kAtOnce == 0) files.commit();
    }
  }
  files.commit();
  for (const auto& part : parts) {
    add_to_note(target, read_note(part.directory));
    for (const auto& [run, copy] : best) add_to_note(target / run, read_note(part.directory / run));
  }

  std::set<fs::path> planned;  // where they are: under other labels, too
  for (const auto& run : read_part(target).file.run_directories(target)) planned.insert(run);
  result.planned = planned.size();
  for (const auto& [run, copy] : best) {
    if (!planned.count(target / run)) {
      ++result.beside;
      continue;
    }
    ++(copy.record.summary ? result.finished : result.unfinished);
    if (!copy.record.summary) continue;
    ++result.computed_by[engines_of(*copy.record.summary)];
    ++result.versions[version_of(copy.record)];
  }
  return result;
}

}  // namespace ffn
