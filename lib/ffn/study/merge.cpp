#include "ffn/study/merge.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "ffn/core/files.hpp"
#include "ffn/core/hash.hpp"
#include "ffn/core/json_document.hpp"
#include "ffn/record/misplaced.hpp"
#include "ffn/record/moved_aside.hpp"
#include "ffn/record/run_check.hpp"
#include "ffn/record/run_standing.hpp"
#include "ffn/record/study_file.hpp"
#include "ffn/study/run_copy.hpp"
#include "ffn/study/study_lock.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t kMaxJsonBytes = 64 << 20, kMaxFileBytes = std::uintmax_t{8} << 30;

// ---- studies

Json read_study_to_merge(const fs::path& directory, std::vector<std::string>& notes) {
  if (!fs::is_directory(directory)) throw DataError("no directory " + directory.string());
  if (!has_study_file(directory)) {
    throw DataError(directory.string() + " is no study: it has no study.json",
                    "name the study's own directory, for example runs/<study>, not the one that it stands in");
  }
  std::string lost;
  Json study = read_study_json(directory, &lost);
  if (!lost.empty()) notes.push_back(lost + "; its copy, " + study_copy_path(directory).filename().string() + ", was read");
  return study;
}

// What the study is about: not what trains it, nor where a file lies. Runs carry their own identities beside this.
Json essence(Json study) {
  for (const char* key : {"schema_version", "compare", "texts"}) study.erase(key);  // another version's; what follows from the document; see below
  if (study["document"].is_object()) {
    for (const char* key : {"compute", "log", "$schema", "extends"}) study["document"].erase(key);
    if (study["document"].contains("task") && study["document"]["task"].is_object()) study["document"]["task"].erase("file");
  }
  return study;
}

// Where two documents differ first: "seeds", "document.train.steps".
std::string first_difference(const Json& a, const Json& b, const std::string& place = "") {
  if (!a.is_object() || !b.is_object()) return place;
  const auto inner = [&](const std::string& key) { return place.empty() ? key : place + "." + key; };
  for (const auto& item : a.items()) {
    if (!b.contains(item.key())) return inner(item.key());
    if (item.value() != b[item.key()]) return first_difference(item.value(), b[item.key()], inner(item.key()));
  }
  for (const auto& item : b.items()) {
    if (!a.contains(item.key())) return inner(item.key());
  }
  return place;
}

// What the first of them trains that says which texts it learned.
std::optional<StudyOrder> order_with_texts(const std::vector<fs::path>& studies) {
  for (const auto& study : studies) {
    if (auto file = read_study_file(study); file && !file->texts.empty()) return StudyOrder(std::move(*file));
  }
  return std::nullopt;
}

// Where two studies differ first; empty if they are one. Texts count where both say which they learned.
std::string difference(const Json& a, const Json& b) {
  const Json one = essence(a), other = essence(b);
  if (one != other) return first_difference(one, other);
  const bool say = a.contains("texts") && b.contains("texts");
  return say && a["texts"] != b["texts"] ? first_difference(a["texts"], b["texts"], "texts") : "";
}

// ---- one run's copy in one directory

struct Copy {
  fs::path directory;  ///< of the run
  std::size_t source;  ///< index into the directories
  std::string identity;
  std::optional<RunSummary> summary;  ///< of a run that is over and whole
  std::int64_t step = 0;              ///< of the checkpoint
};

bool better(const Copy& a, const Copy& b) {
  if (a.summary.has_value() != b.summary.has_value()) return a.summary.has_value();
  return !a.summary && a.step > b.step;
}

// Run directories below, as paths relative to `root`.
void find(const fs::path& root, const fs::path& below, std::vector<fs::path>& found) {
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(root / below)) {
    const auto name = entry.path().filename();
    if (!is_no_result(name.string()) && fs::is_directory(entry.symlink_status())) children.push_back(below / name);
  }
  std::sort(children.begin(), children.end());
  for (const auto& child : children) {
    if (holds_run(root / child)) found.push_back(child);
    else find(root, child, found);
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

std::int64_t checkpoint_step(const RunDirectory& directory, const std::string& identity) {
  if (!path_exists(directory.checkpoint_path())) return 0;
  const std::string source = directory.config_path().string();
  const auto document = parse_document(read_file(source, "config", ExitCode::data, kMaxJsonBytes), source, directory.path().string());
  const auto stored = directory.read_checkpoint(read_run_config(document, source), identity);
  return stored ? stored->checkpoint.step : 0;
}

// How the copy stands; nothing for one that would have to be trained again. `notes` says what is wrong with it.
std::optional<Copy> examine(const fs::path& run, std::size_t source, std::vector<std::string>& notes) {
  using Verdict = RunCheck::Verdict;
  const RunDirectory directory(run);
  const RunCheck check = check_run(directory);
  if (!check.damage.empty())
    notes.push_back(run.string() + ": " + joined(check.damage) + (check.verdict == Verdict::repeated ? "; this copy is left out" : ""));
  if (check.verdict == Verdict::repeated) return std::nullopt;
  Copy copy{run, source, {}, {}, 0};
  try {
    if (check.verdict != Verdict::unfinished) {
      copy.summary = read_summary(run);
      copy.identity = copy.summary.value().identity;
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
  else {
    const auto bytes = [](const Copy& copy) {
      return read_file(RunDirectory(copy.directory).weights_path(), "weights", ExitCode::data, kMaxFileBytes);
    };
    if (bytes(a) != bytes(b)) what = "their weights differ";
  }
  if (!what.empty() && hands(*a.summary) != hands(*b.summary))
    what += " (computed by " + hands(*a.summary) + " and by " + hands(*b.summary) + ")";
  return what;
}

// ---- copying

// What stands in the way of a run's copy in the target. Nothing that is not a lesser copy of the same run is moved. Throws DataError that names what is there and is not ours.
InTheWay in_the_way(const fs::path& target, const fs::path& run, const Copy& copy) {
  fs::path place = target;
  for (const auto& part : run) {
    place /= part;
    const auto type = fs::symlink_status(place).type();
    if (type == fs::file_type::not_found) return InTheWay::nothing;
    if (type != fs::file_type::directory)
      throw DataError(place.string() + (type == fs::file_type::symlink ? " is a link" : " is no directory"));
  }
  if (fs::is_empty(place)) return InTheWay::nothing;
  const std::string source = RunDirectory(copy.directory).config_path().string();
  auto config = read_run_config(parse_document(read_file(source, "config", ExitCode::data, kMaxJsonBytes), source, copy.directory.string()), source);
  config.compute.engine = ComputeConfig().engine;  // whoever computed the lesser copy
  const RunLook look = look_at(RunDirectory(place), config, copy.identity);
  if (look.standing == Standing::foreign || look.standing == Standing::unreadable || look.standing == Standing::another)
    throw DataError(look.standing == Standing::unreadable ? look.about : place.string() + " " + (look.standing == Standing::another ? "holds " : "") + look.about);
  return InTheWay::lesser;
}

// Whether somebody has been here. A merge that was killed at once leaves the beginning of a study.json.
bool has_content(const fs::path& target) {
  if (!fs::is_directory(target)) return path_exists(target);
  return std::any_of(fs::directory_iterator(target), fs::directory_iterator(), [](const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    return name.rfind("study.json.", 0) != 0;  // the copy comes first
  });
}

std::string version_of(const fs::path& run) {
  const fs::path file = run / "meta.json";
  if (!fs::is_regular_file(file)) return "unknown";
  const Json meta = parse_json(read_file(file, "meta file", ExitCode::data, kMaxJsonBytes));
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

}  // namespace

MergeResult merge_studies(const std::vector<fs::path>& given, const fs::path& given_target) {
  const fs::path target = named(given_target);
  std::vector<fs::path> sources;
  for (const auto& source : given) sources.push_back(named(source));
  MergeResult result;
  Json study = read_study_to_merge(sources.at(0), result.notes);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Json other = i == 0 ? study : read_study_to_merge(sources[i], result.notes);
    if (is_within(target, sources[i]) || is_within(sources[i], target))
      throw UsageError(target.string() + " and " + sources[i].string() + " lie in each other", "merge into a directory of its own");
    const std::string place = difference(study, other);
    if (place.empty() && !study.contains("texts") && other.contains("texts")) study["texts"] = other["texts"];
    if (place.empty()) continue;
    throw DataError(sources[0].string() + " and " + sources[i].string() + " are different studies: " + place + " differs in their study.json",
                    "only parts of one study can be merged; `ffn-train compare A B` looks at several studies");
  }
  for (const auto& source : sources) {
    if (StudyLock::is_taken(fs::weakly_canonical(source)))
      throw Error(ExitCode::interrupted, "another process is at work in " + source.string(), "merge when it has ended");
  }
  // The target takes part like a source, and first: of two equal copies its own stays.
  std::vector<fs::path> directories;
  const bool exists = has_content(target);
  if (exists) {
    if (!fs::is_directory(target)) throw DataError(target.string() + " is no directory");
    const Json there = read_study_to_merge(target, result.notes);
    if (const std::string place = difference(there, study); !place.empty()) {
      throw DataError(target.string() + " holds another study than " + sources[0].string() + ": " + place + " differs in their study.json",
                      "merge into a directory that does not exist yet");
    }
    directories.push_back(target);
  }
  directories.insert(directories.end(), sources.begin(), sources.end());

  result.planned = study["seeds"].size() * study["variants"].size();
  const auto order = order_with_texts(directories);  // an older part's study.json does not say which text it learned
  std::map<fs::path, Copy> best;                     // by the run's place within the study
  std::string problems;
  for (std::size_t i = 0; i < directories.size(); ++i) {
    std::vector<fs::path> runs;
    find(directories[i], "", runs);
    for (const auto& run : runs) {
      if (const std::string what = misplaced(directories[i] / run, order ? &*order : nullptr); !what.empty()) problems += "\n  " + (directories[i] / run).string() + " " + what;
      auto copy = examine(directories[i] / run, i, result.notes);
      if (!copy) continue;
      const auto [known, is_new] = best.emplace(run, *copy);
      if (is_new) continue;
      Copy& other = known->second;
      const std::string both = "\n  " + other.directory.string() + " and " + copy->directory.string() + ": ";
      if (other.identity != copy->identity) problems += both + "they are runs of different configs";
      else if (other.summary && copy->summary) {
        if (const std::string what = contradiction(other, *copy); !what.empty()) problems += both + what;
      }
      if (better(*copy, other)) other = std::move(*copy);
    }
  }
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
    throw DataError("these do not fit together; nothing was copied:" + problems, "move away what is not the study's, or merge into a new directory; `ffn-train compare` looks at each by itself");

  const StudyLock lock(fs::weakly_canonical(target), sha256_hex(dump_json(essence(study))), /*exclusive=*/true);
  make_directories(target);
  if (!exists) {  // before any run: whoever looks at a merge that was killed is told what it lacks, and the same command goes on
    remove_temporaries(target);
    write_study_file(target, study_text(study));
  }
  KilledCopies killed;
  for (const auto& [run, copy] : best) {
    killed.remove(target / run);
    if (const auto way = there.find(run); way != there.end()) {
      const fs::path aside = copy_run({copy.directory, target / run}, way->second);
      if (!aside.empty()) result.notes.push_back((target / run).string() + ": " + copy.directory.string() + " has the better copy; moved to " + aside.string());
      ++result.copied[directories[copy.source].string()];
    }
    ++(copy.summary ? result.finished : result.unfinished);
    if (!copy.summary) continue;
    ++result.computed_by[hands(*copy.summary)];
    ++result.versions[version_of(target / run)];
  }
  return result;
}

}  // namespace ffn
