#include "ffn/study/merge.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/store/misplaced.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/run_standing.hpp"
#include "ffn/store/safetensors.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/run_copy.hpp"
#include "ffn/study/same_study.hpp"
#include "ffn/study/study_lock.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxJsonBytes = 64 << 20;

// What the first of them trains that says which texts it learned.
std::optional<StudyOrder> order_with_texts(const std::vector<fs::path>& studies) {
  for (const auto& study : studies) {
    if (auto file = read_study_file(study); file && !file->texts.empty()) return StudyOrder(std::move(*file));
  }
  return std::nullopt;
}

// The places of the study's runs within it.
std::set<fs::path> planned_places(const Json& study) {
  std::set<fs::path> places;
  for (const auto& variant : study["variants"]) {
    for (const auto& seed : study["seeds"])
      places.insert(run_path_within("", variant["name"].get<std::string>(), seed.get<std::int64_t>()));
  }
  return places;
}

// ---- one run's copy in one directory

struct Copy {
  fs::path directory;  ///< of the run
  std::size_t source;  ///< index into the directories
  std::string identity;
  std::optional<RunSummary> summary;  ///< of a run that is over and whole
  std::int64_t step = 0;              ///< of the checkpoint
  RunCheck::Verdict verdict = RunCheck::Verdict::whole;
};

// How much is wrong with a finished copy.
int damage_rank(RunCheck::Verdict verdict) {
  using Verdict = RunCheck::Verdict;
  const Verdict ascending[] = {Verdict::whole, Verdict::old, Verdict::marred, Verdict::mendable};
  return static_cast<int>(std::find(std::begin(ascending), std::end(ascending), verdict) - std::begin(ascending));
}

bool better(const Copy& a, const Copy& b) {
  if (a.summary.has_value() != b.summary.has_value()) return a.summary.has_value();
  return a.summary ? damage_rank(a.verdict) < damage_rank(b.verdict) : a.step > b.step;
}

// Looks for runs in one of the directories. Links lead to runs in the study's places and to its variants' directories; others may lead
// anywhere, and are named.
class RunSearch {
 public:
  RunSearch(const fs::path& root, const std::set<fs::path>& planned, std::vector<std::string>& notes)
      : root_(root), planned_(planned), notes_(notes) {
    for (const auto& run : planned) variants_.insert(run.parent_path());
  }

  /// Paths within the directory: those of the study's places, then others.
  std::vector<fs::path> runs() {
    for (const auto& run : planned_) {
      if (holds_run(root_ / run)) take(run);
    }
    search("");
    return std::move(found_);
  }

 private:
  // Whether the directory was not known by another name.
  bool is_new(const fs::path& run) {
    const std::string mark = RunDirectory(root_ / run).mark();
    return mark.empty() || marks_.insert(mark).second;
  }

  void take(const fs::path& run) {
    is_new(run);
    found_.push_back(run);
  }

  bool leads_on(const DirectoryEntry& entry, const fs::path& within) {
    const bool is_link = entry.type == fs::file_type::symlink;
    if (is_no_result(within.filename().string()) || (is_link ? type_of(entry.path) : entry.type) != fs::file_type::directory) return false;
    if (!is_link || variants_.count(within)) return true;
    if (!planned_.count(within)) notes_.push_back(entry.path.string() + ": a link, and no place of the study's; it is not followed");
    return false;
  }

  void search(const fs::path& below) {
    std::vector<fs::path> children;
    for (const auto& entry : entries_of(root_ / below)) {
      const fs::path within = below / entry.path.filename();
      if (leads_on(entry, within)) children.push_back(within);
    }
    for (const auto& child : children) {
      if (!holds_run(root_ / child)) search(child);
      else if (is_new(child)) found_.push_back(child);
    }
  }

  fs::path root_;
  const std::set<fs::path>& planned_;
  std::set<fs::path> variants_;
  std::vector<std::string>& notes_;
  std::set<std::string> marks_;
  std::vector<fs::path> found_;
};

std::int64_t checkpoint_step(const RunDirectory& directory, const std::string& identity) {
  if (!path_exists(directory.checkpoint_path())) return 0;
  const auto stored = directory.read_checkpoint(directory.read_config(), identity);
  return stored ? stored->checkpoint.step : 0;
}

// How the copy stands; nothing for one that would have to be trained again. `notes` says what is wrong with it.
std::optional<Copy> examine(const fs::path& run, std::size_t source, std::vector<std::string>& notes) {
  using Verdict = RunCheck::Verdict;
  const RunDirectory directory(run);
  const RunCheck check = check_run(directory);
  if (check.verdict == Verdict::unreadable) throw ReadError(join(check.damage, "; "));
  const bool is_left_out = check.verdict == Verdict::repeated || check.verdict == Verdict::misplaced;
  if (!check.damage.empty())
    notes.push_back(run.string() + ": " + join(check.damage, "; ") + (is_left_out ? "; this copy is left out" : ""));
  if (is_left_out) return std::nullopt;
  Copy copy{run, source, {}, {}, 0, check.verdict};
  try {
    if (check.verdict != Verdict::unfinished) {
      copy.summary = read_summary(run);
      if (!copy.summary) throw DataError(directory.summary_path().string() + ": missing");
      copy.identity = copy.summary->identity;
    } else if (const auto status = read_status(run)) {
      copy.identity = status->identity;
      copy.step = checkpoint_step(directory, copy.identity);
    } else {
      return std::nullopt;
    }
  } catch (const Error& error) {
    notes.push_back(std::string(error.what()) + "; this copy is left out");
    return std::nullopt;
  }
  return copy;
}

// Bit for bit, so that NaN equals itself. Times are no result.
bool same_metrics(const fs::path& a, const fs::path& b) {
  const auto left = read_run_metrics(a), right = read_run_metrics(b);
  const auto same_value = [](const auto& x, const auto& y) {
    return x.first == y.first && std::memcmp(&x.second, &y.second, sizeof x.second) == 0;
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [&](const Evaluation& x, const Evaluation& y) {
    return x.step == y.step && x.tokens == y.tokens &&
           std::equal(x.metrics.begin(), x.metrics.end(), y.metrics.begin(), y.metrics.end(), same_value);
  });
}

// The config that a file of weights says it is of names paths, logging and how it was computed, too: its identity counts.
bool same_weights(const fs::path& a, const fs::path& b) {
  auto left = read_safetensors(RunDirectory(a).weights_path()), right = read_safetensors(RunDirectory(b).weights_path());
  const auto same_tensor = [](const TensorData& x, const TensorData& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.bytes == y.bytes;
  };
  const auto by_name = [](const TensorData& x, const TensorData& y) { return x.name < y.name; };
  for (auto* file : {&left, &right}) std::sort(file->tensors.begin(), file->tensors.end(), by_name);
  return left.metadata["identity"] == right.metadata["identity"] && left.metadata["step"] == right.metadata["step"] &&
         std::equal(left.tensors.begin(), left.tensors.end(), right.tensors.begin(), right.tensors.end(), same_tensor);
}

std::string hands(const RunSummary& summary) {
  std::string text;
  for (const auto& hand : summary.computed_by) text += (text.empty() ? "" : ", then ") + hand;
  return text.empty() ? "fused, cpu" : text;
}

// What is different about two finished copies of one run; empty if they are the same result.
std::string contradiction(const Copy& a, const Copy& b) {
  std::string what;
  if (a.summary->end != b.summary->end || a.summary->steps != b.summary->steps) what = "they ended differently";
  else if (!same_metrics(a.directory, b.directory)) what = "their metrics differ";
  else if (!same_weights(a.directory, b.directory)) what = "their weights differ";
  if (!what.empty() && hands(*a.summary) != hands(*b.summary))
    what += " (computed by " + hands(*a.summary) + " and by " + hands(*b.summary) + ")";
  return what;
}

// ---- copying

// What stands in the way of a run's copy in the target. Nothing that is not a lesser copy of the same run is moved. Throws DataError that
// names what is there and is not ours.
InTheWay in_the_way(const fs::path& target, const fs::path& run, const Copy& copy) {
  fs::path place = target;
  for (const auto& part : run) {
    place /= part;
    const auto type = link_type_of(place);
    if (type == fs::file_type::not_found) return InTheWay::nothing;
    if (type != fs::file_type::directory)
      throw DataError(place.string() + (type == fs::file_type::symlink ? " is a link" : " is no directory"));
  }
  if (entries_of(place).empty()) return InTheWay::nothing;
  auto config = RunDirectory(copy.directory).read_config();
  config.compute.engine = ComputeConfig().engine;  // whoever computed the lesser copy
  const RunLook look = look_at(RunDirectory(place), config, copy.identity);
  if (look.standing == Standing::foreign || look.standing == Standing::another)
    throw DataError(place.string() + " " + (look.standing == Standing::another ? "holds " : "") + look.about);
  return InTheWay::lesser;
}

// Whether somebody has been here. A merge that was killed at once leaves the beginning of a study.json.
bool has_content(const fs::path& target) {
  if (!directory_exists(target)) return path_exists(target);
  const auto entries = entries_of(target);
  return !std::all_of(entries.begin(), entries.end(), StudyLock::is_leftover);
}

std::string version_of(const fs::path& run) {
  Json meta;
  try {
    meta = parse_json(read_file(RunDirectory(run).meta_path(), "meta file", ExitCode::data, kMaxJsonBytes));
  } catch (const Error&) {  // no result rests on it
  }
  if (!meta.is_object()) return "unknown";
  const auto text = [&](const char* key) { return meta.contains(key) && meta[key].is_string() ? meta[key].get<std::string>() : "?"; };
  return text("version") + " (" + text("git_commit") + ")";
}

// Without the slash at its end, behind which there is no name.
fs::path named(const fs::path& directory) { return directory.has_filename() ? directory : directory.parent_path(); }

bool is_within(const fs::path& inner, const fs::path& outer) {
  const auto relative = fs::weakly_canonical(inner).lexically_relative(fs::weakly_canonical(outer));
  return !relative.empty() && *relative.begin() != "..";
}

// Throws unless all are parts of one study; returns it, with what only some of them say.
StudyPart one_study_of(const std::vector<fs::path>& sources, const fs::path& target, std::vector<std::string>& notes) {
  StudyPart first = read_study_part(sources.at(0), notes);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const StudyPart other = i == 0 ? first : read_study_part(sources[i], notes);
    if (is_within(target, sources[i]) || is_within(sources[i], target))
      throw UsageError(target.string() + " and " + sources[i].string() + " lie in each other", "merge into a directory of its own");
    if (const std::string place = difference_of(first, other, notes); !place.empty())
      throw DataError(
          sources[0].string() + " and " + sources[i].string() + " are different studies: " + place + " differs in their study.json",
          "only parts of one study can be merged; `ffn-train compare A B` looks at several studies");
    take_knowledge(first, other);
  }
  for (const auto& source : sources) {
    if (StudyLock::is_taken(fs::weakly_canonical(source)))
      throw Error(ExitCode::interrupted, "another process is at work in " + source.string(), "merge when it has ended");
  }
  return first;
}

// What is to stand in the target's study.json; nothing where that stays as it is. Throws where the target holds something else.
std::optional<JsonValue> new_study_file(const fs::path& target, const StudyPart& source, std::vector<std::string>& notes) {
  if (!directory_exists(target)) throw DataError(target.string() + " is no directory");
  StudyPart there = read_study_part(target, notes);
  if (const std::string place = difference_of(there, source, notes); !place.empty()) {
    throw DataError(
        target.string() + " holds another study than " + source.directory.string() + ": " + place + " differs in their study.json",
        "merge into a directory that does not exist yet");
  }
  const bool is_more = take_knowledge(there, source);
  if (!is_more && path_exists(study_file_path(target))) return std::nullopt;
  return std::move(there.study);
}

using BestCopies = std::map<fs::path, Copy>;  // by the run's place within the study

// Takes one more copy of a run in; returns what contradicts.
std::string take_copy(const fs::path& run, Copy copy, BestCopies& best) {
  const auto [known, is_new] = best.emplace(run, copy);
  if (is_new) return "";
  Copy& other = known->second;
  std::string what;
  if (other.identity != copy.identity) what = "they are runs of different configs";
  else if (other.summary && copy.summary) what = contradiction(other, copy);
  if (!what.empty()) what = "\n  " + other.directory.string() + " and " + copy.directory.string() + ": " + what;
  if (better(copy, other)) other = std::move(copy);
  return what;
}

// Of what lies in the directories. What does not fit together is added to `problems`.
BestCopies best_copies(const std::vector<fs::path>& directories, const std::set<fs::path>& planned, std::vector<std::string>& notes,
                       std::string& problems) {
  const auto order = order_with_texts(directories);  // an older part's study.json does not say which text it learned
  BestCopies best;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    for (const auto& run : RunSearch(directories[i], planned, notes).runs()) {
      const fs::path path = directories[i] / run;
      if (const std::string what = misplaced(path, order ? &*order : nullptr); !what.empty())
        problems += "\n  " + path.string() + " " + what;
      if (auto copy = examine(path, i, notes)) problems += take_copy(run, std::move(*copy), best);
    }
  }
  return best;
}

// Runs of another state of the study, or copies of its runs: they are no results of what study.json lists.
std::string beside_note(const std::vector<std::string>& beside) {
  constexpr std::size_t kNamed = 3;
  const std::vector<std::string> named_runs(beside.begin(), beside.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, beside.size())));
  return std::to_string(beside.size()) + (beside.size() == 1 ? " run" : " runs") +
         " in places that study.json does not list: " + join(named_runs) + (beside.size() > kNamed ? ", …" : "") +
         "; taken along and not counted";
}

}  // namespace

MergeResult merge_studies(const std::vector<fs::path>& given, const fs::path& given_target) {
  const fs::path target = named(given_target);
  std::vector<fs::path> sources;
  for (const auto& source : given) sources.push_back(named(source));
  MergeResult result;
  const StudyPart study = one_study_of(sources, target, result.notes);
  // The target takes part like a source, and first: of two equal copies its own stays.
  std::vector<fs::path> directories = sources;
  const bool exists = has_content(target);
  std::optional<JsonValue> study_file = study.study;
  if (exists) {
    study_file = new_study_file(target, study, result.notes);
    directories.insert(directories.begin(), target);
  }
  const auto planned = planned_places(*study.study);
  result.planned = planned.size();
  std::string problems;
  const BestCopies best = best_copies(directories, planned, result.notes, problems);
  std::map<fs::path, InTheWay> there;  // of the runs that are to be copied
  for (const auto& [run, copy] : best) {
    if (exists && copy.source == 0) continue;
    try {
      there[run] = in_the_way(target, run, copy);
    } catch (const DataError& error) {
      problems += std::string("\n  ") + error.what();
    }
  }
  if (!problems.empty())
    throw DataError("these do not fit together; nothing was copied:" + problems,
                    "move away what is not the study's, or merge into a new directory; `ffn-train compare` looks at each by itself");

  const StudyLock lock(fs::weakly_canonical(target), study_fingerprint(study), /*exclusive=*/true);
  make_directories(target);
  // Before any run: whoever looks at a merge that was killed is told what it lacks, and the same command goes on.
  if (study_file) write_study_file(target, study_text(**study_file));
  KilledCopies killed;
  std::vector<std::string> beside;
  for (const auto& [run, copy] : best) {
    killed.remove(target / run);
    if (const auto way = there.find(run); way != there.end()) {
      const fs::path aside = copy_run({copy.directory, target / run}, way->second);
      if (!aside.empty())
        result.notes.push_back((target / run).string() + ": " + copy.directory.string() + " has the better copy; moved to " +
                               aside.string());
      ++result.copied[directories[copy.source].string()];
    }
    if (!planned.count(run)) {
      beside.push_back(run.string());
      continue;
    }
    ++(copy.summary ? result.finished : result.unfinished);
    if (!copy.summary) continue;
    ++result.computed_by[hands(*copy.summary)];
    ++result.versions[version_of(target / run)];
  }
  result.beside = beside.size();
  if (!beside.empty()) result.notes.push_back(beside_note(beside));
  return result;
}

}  // namespace ffn
