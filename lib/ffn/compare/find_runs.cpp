// Run directories → FoundRun.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/checksum.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/differing_keys.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/misplaced.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// What a config says, into a run.
void take_config(const Json& config, const fs::path& path, FoundRun& run) {
  run.path = path;
  run.variant = path.parent_path().filename().string();
  run.keys = flat_keys(config);
  const auto count = [&](const char* pointer, std::int64_t otherwise, std::int64_t most) {
    return record_detail::count_from(config.value(Json::json_pointer(pointer), Json(otherwise)), most);
  };
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;  // products of two do not overflow
  run.seed = record_detail::integer_from(config.value("seed", Json(0)), INT64_MIN, INT64_MAX);
  run.label = config.value("label", "");
  run.budget_steps = count("/train/steps", 0, record_detail::kLargestCount);
  run.tokens_per_step = count("/train/batch_size", 1, kMostTokens);
  const std::string kind = run.keys["task.kind"];
  if (kind == "sequence_xor") run.tokens_per_step *= count("/task/length", 1, kMostTokens);
  if (kind == "text") {
    run.tokens_per_step *= count("/task/context", 1, kMostTokens);
    run.keys.emplace("task.split", "fixed");  // of configs that are older than the key
  }
  for (const char* key : {"seed", "name", "label", "train.checkpoint_every", "log.tensorboard", "log.layers"})
    run.keys.erase(key);  // what makes no other run
}

// Its config is what status and summary vouch for; where they do not (version 0.1), what the identity says.
void check_config(const std::string& text, const fs::path& file, const RunStatus& status) {
  if (!status.config_checksum.empty()) {
    if (checksum_of(text) != status.config_checksum) throw DataError(file.string() + ": damaged: its checksum differs");
    return;
  }
  std::string identity;
  try {
    identity = run_identity(read_run_config(parse_document(text, file.string(), file.parent_path().string()), file.string()));
  } catch (const ConfigError&) {
    throw;
  } catch (const Error&) {
    return;  // its text is not here: nothing to check against
  }
  if (identity != status.identity)
    throw DataError(file.string() + ": not the config that was trained (identity " + identity + ", not " + status.identity + ")");
}

// A whole run in a place that a study has for another.
class Stranger : public DataError {
  using DataError::DataError;
};

// `order`: what the study that lists it trains there, or null.
FoundRun read_run(const fs::path& path, const StudyOrder* order) {
  const auto status = read_status(path);
  const RunDirectory directory(path);
  if (!status) throw DataError(directory.status_path().string() + ": missing");
  FoundRun run;
  const fs::path file = directory.config_path();
  const std::string text = directory.read_config_text();
  check_config(text, file, *status);
  const Json config = parse_json(text);
  if (!config.is_object()) throw DataError(file.string() + ": no JSON object");
  const std::string what = order ? misplaced(path, config, status->identity, order) : "";
  try {
    take_config(order && what.empty() ? order->in_its_words(path.parent_path().filename().string(), config) : config, path, run);
  } catch (const Json::exception& error) {
    throw DataError(file.string() + ": " + error.what());
  }
  run.state = status->state;
  run.identity = status->identity;
  if (status->state == RunState::done || status->state == RunState::diverged) {
    run.summary = read_summary(path);
    if (!run.summary) throw DataError(directory.summary_path().string() + ": missing");
    if (run.summary->identity != run.identity) throw DataError(directory.summary_path().string() + ": of another config");
    if (run.summary->steps > run.budget_steps)
      throw DataError(directory.summary_path().string() + ": of " + std::to_string(run.summary->steps) + " steps in a run of " +
                      std::to_string(run.budget_steps));
    run.flops_per_token = run.summary->cost.flops;
  }
  if (!what.empty()) throw Stranger(path.string() + " " + what);
  return run;
}

// ---- where runs are

struct RunPlace {
  fs::path path;
  bool listed_only = false;                           // by a study.json; nothing is there
  bool extra = false;                                 // it lies in a study's directory, and the study does not list it
  std::shared_ptr<const StudyOrder> order = nullptr;  // of the study that lists it
};

struct Places {
  std::vector<RunPlace> all;
  std::vector<fs::path> studies;
  std::vector<std::string> damaged_studies;
  std::set<std::string> searched;  // links may lead back
};

constexpr std::size_t kMostDirectories = 50'000;  // that hold no run themselves

// What was lost, what is done instead, and the remedy.
std::string lost_study(const std::string& problem, const std::string& remedy) {
  return problem +
         "; not known without it: which runs are the study's, its reference, smallest difference that matters, tuning and looks; every run below it counts instead; " +
         remedy;
}

using Listed = std::map<fs::path, bool>;  // whether there is a run

// `around`: what the study around this directory lists, if there is one.
void search(const fs::path& directory, const Listed* around, Places& places) {
  const auto known = around ? around->find(directory) : Listed::const_iterator();
  const bool listed = around && known != around->end();  // then it stands among the places already
  if (listed ? known->second : holds_run(directory)) {
    if (!listed) places.all.push_back({directory, false, around != nullptr});
    return;
  }
  const std::string mark = RunDirectory(directory).mark();
  if (!mark.empty() && !places.searched.insert(mark).second) return;
  if (places.searched.size() > kMostDirectories + places.all.size())
    throw DataError("more than " + std::to_string(kMostDirectories) + " directories to search; the last one was " + directory.string(),
                    "name the directory that results went to");
  Listed of_study;
  try {
    if (auto study = read_study_file(directory)) {
      const auto runs = study->run_directories(directory);
      const std::string lost = study->lost;
      const auto order = std::make_shared<const StudyOrder>(std::move(*study));
      for (const auto& run : runs) {
        if (of_study.count(run)) continue;
        const bool there = of_study[run] = holds_run(run);
        places.all.push_back({run, !there, false, order});
      }
      around = &of_study;
      places.studies.push_back(directory);
      if (!lost.empty())
        places.damaged_studies.push_back(lost +
                                         "; its copy, study.json.bak, is read instead; starting the study again writes the file anew");
    }
  } catch (const Error& error) {
    places.damaged_studies.push_back(lost_study(error.what(), error.hint()));
  }
  for (const auto& [path, type] : entries_of(directory)) {
    // Directories that were moved aside hold earlier results, not this study's; a copy that was killed left no result.
    const bool is_directory = type == fs::file_type::directory || (type == fs::file_type::symlink && directory_exists(path));
    if (is_directory && !is_never_a_result(path.filename().string())) search(path, around, places);
  }
}

// The same directory, reached twice. Where one place of a study leads to another one, the study lacks a run.
void drop_copies(std::vector<RunPlace>& places) {
  std::map<std::string, RunPlace> seen;
  std::vector<RunPlace> kept;
  for (auto& place : places) {
    const std::string mark = place.listed_only ? "" : RunDirectory(place.path).mark();
    const auto [first, is_new] = seen.insert({mark.empty() ? place.path.string() : mark, place});
    const bool leads_to_another = !is_new && place.order && place.order == first->second.order && place.path != first->second.path;
    if (leads_to_another) place.listed_only = true;
    if (is_new || leads_to_another) kept.push_back(std::move(place));
  }
  places = std::move(kept);
}

// Whether this is where a study was: its comparison is there, or the run says so, which is named after the study and not its variant.
bool was_study(const fs::path& directory, const fs::path& run) {
  if (path_exists(comparison_path(directory))) return true;
  try {
    const Json config = parse_json(RunDirectory(run).read_config_text());
    return config.is_object() && config.value("name", Json()) == directory.filename().string() &&
           directory.filename() != run.parent_path().filename();
  } catch (const Error&) {
    return false;
  }
}

// Studies that lost their study.json and its copy.
void note_lost_studies(Places& places) {
  std::set<fs::path> seen;
  for (const auto& place : places.all) {
    const fs::path study = fs::absolute(place.path).lexically_normal().parent_path().parent_path();
    if (!seen.insert(study).second || has_study_file(study) || !was_study(study, place.path)) continue;
    const fs::path named = place.path.parent_path().parent_path();
    places.damaged_studies.push_back(
        lost_study(study_file_path(named.empty() ? study : named).string() + ": missing, and so is its copy", kLostStudyRemedy));
  }
}

// Of a run or a variant that is named by itself, the study around it says what belongs there, too.
void find_orders(std::vector<RunPlace>& places) {
  std::map<fs::path, std::shared_ptr<const StudyOrder>> orders;
  for (auto& place : places) {
    if (place.order || place.extra || place.listed_only) continue;
    const fs::path study = fs::absolute(place.path).lexically_normal().parent_path().parent_path();
    const auto [known, is_new] = orders.insert({study, nullptr});
    if (is_new) {
      try {
        if (auto file = read_study_file(study)) known->second = std::make_shared<const StudyOrder>(std::move(*file));
      } catch (const Error&) {  // whoever looks at the study hears of it
      }
    }
    place.order = known->second;
  }
}

Places places_below(const std::vector<fs::path>& directories) {
  Places places;
  for (const auto& directory : directories) {
    if (!directory_exists(directory)) throw DataError("no directory " + directory.string());
    search(directory.lexically_normal(), nullptr, places);
  }
  drop_copies(places.all);
  find_orders(places.all);
  note_lost_studies(places);
  return places;
}

// NAME-tuning/VARIANT/seed-N, N a tuning seed: it chose a value for the study NAME.
bool is_tuning_run(const fs::path& run) {
  const auto seed = seed_of_directory(run.filename().string());
  const std::string study = fs::absolute(run).parent_path().parent_path().filename().string();
  const std::size_t begin = study.size() - std::min(study.size(), std::strlen(kTuningSuffix));
  return study.substr(begin) == kTuningSuffix && seed && *seed >= kFirstTuningSeed;
}

// Tuning runs judge nothing beside others.
TuningRuns drop_tuning(std::vector<RunPlace>& places) {
  TuningRuns dropped;
  const auto tuning = std::stable_partition(places.begin(), places.end(), [](const RunPlace& place) { return !is_tuning_run(place.path); });
  if (tuning == places.begin()) return dropped;
  for (auto place = tuning; place != places.end(); ++place) {
    const std::string study = place->path.parent_path().parent_path().string();
    if (place->listed_only) continue;
    if (++dropped.count == 1 || dropped.studies.back() != study) dropped.studies.push_back(study);
  }
  places.erase(tuning, places.end());
  return dropped;
}

// One text has one name, wherever it lay and whatever it was called when a run was trained; two texts have two, also where one took the
// other's place.
void name_texts(const std::vector<bool>& counted, const std::vector<RunPlace>& places, std::vector<FoundRun>& runs) {
  std::map<std::string, std::string> names;  // by text
  std::set<std::string> taken;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!counted[i] || !places[i].order) continue;
    const std::string text = places[i].order->text_of(runs[i].variant);
    const auto file = runs[i].keys.find("task.file");
    if (text.empty() || file == runs[i].keys.end()) continue;
    const auto [known, is_new] = names.insert({text, file->second});
    if (is_new && !taken.insert(known->second).second) known->second += " (" + text.substr(0, 8) + ")";
    file->second = known->second;
  }
}

// Runs that cannot be counted stand for themselves as pending, with the config of another of their variant: a table says what
// lacks. Those without such another go.
void stand_in(const std::vector<bool>& counted, const std::vector<RunPlace>& places, std::vector<FoundRun>& runs) {
  if (std::find(counted.begin(), counted.end(), false) == counted.end()) return;
  std::map<fs::path, std::size_t> by_variant;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (counted[i]) by_variant.insert({places[i].path.parent_path(), i});
  }
  std::vector<FoundRun> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto& path = places[i].path;
    if (counted[i]) {
      out.push_back(runs[i]);
      continue;
    }
    const auto sibling = by_variant.find(path.parent_path());
    const auto seed = seed_of_directory(path.filename().string());
    if (sibling == by_variant.end() || !seed) continue;
    FoundRun run = runs[sibling->second];
    run.path = path;
    run.seed = *seed;
    run.state = RunState::pending;
    run.identity.clear();
    run.summary.reset();
    out.push_back(std::move(run));
  }
  runs = std::move(out);
}

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  std::vector<std::string> shown(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  if (names.size() > kShown) shown.push_back("and " + std::to_string(names.size() - kShown) + " more");
  return join(shown, "; ");
}

}  // namespace

FoundRun pending_run(const RunConfig& config, const fs::path& path) {
  FoundRun run;
  take_config(resolved_json(config), path, run);
  run.flops_per_token = model_cost(config.model, task_shape(config.task)).total.flops;
  return run;
}

FoundRuns find_runs(const std::vector<fs::path>& directories, Extras extras) {
  auto found_places = places_below(directories);
  FoundRuns found;
  found.damaged_studies = std::move(found_places.damaged_studies);
  auto& places = found_places.all;
  found.tuning = drop_tuning(places);
  if (extras == Extras::leave_out) {
    for (const auto& place : places) {
      if (place.extra) found.extra.push_back(place.path.string());
    }
    places.erase(std::remove_if(places.begin(), places.end(), [](const RunPlace& place) { return place.extra; }), places.end());
  }
  found.runs.resize(places.size());
  std::vector<std::string> problems(places.size()), strangers(places.size());
  constexpr std::size_t kThreads = 8, kRunsPerThread = 32;
  side_by_side(std::min(kThreads, 1 + places.size() / kRunsPerThread), places.size(), [&](std::size_t i) {
    if (places[i].listed_only) return;
    try {
      found.runs[i] = read_run(places[i].path, places[i].order.get());
    } catch (const Stranger& stranger) {
      strangers[i] = stranger.what();
    } catch (const Error& error) {  // one damaged run must not hide the others
      problems[i] = error.what();
    }
  });
  std::vector<bool> counted(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    counted[i] = !places[i].listed_only && problems[i].empty() && strangers[i].empty();
    if (places[i].listed_only) found.missing.push_back(places[i].path.string());
    else if (!strangers[i].empty()) found.strangers.push_back(strangers[i]);
    else if (!counted[i]) found.left_out.push_back(problems[i]);
  }
  name_texts(counted, places, found.runs);
  stand_in(counted, places, found.runs);
  return found;
}

namespace {

RunPlaces sorted_places(Places places) {
  RunPlaces out;
  for (auto& place : places.all) (place.listed_only ? out.missing : out.there).push_back(std::move(place.path));
  out.studies = std::move(places.studies);
  out.damaged_studies = std::move(places.damaged_studies);
  return out;
}

}  // namespace

RunPlaces find_run_places(const std::vector<fs::path>& directories) { return sorted_places(places_below(directories)); }

RunPlaces find_judging_places(const std::vector<fs::path>& directories) {
  auto places = places_below(directories);
  auto tuning = drop_tuning(places.all);
  auto out = sorted_places(std::move(places));
  out.tuning = std::move(tuning);
  return out;
}

std::vector<std::string> notes_about(const FoundRuns& found) {
  const auto runs = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " run is " : " runs are "); };
  std::vector<std::string> notes;
  for (const auto& problem : found.damaged_studies) notes.push_back(problem);
  if (!found.left_out.empty())
    notes.push_back(runs(found.left_out.size()) + "left out, for damage: " + list_of(found.left_out) +
                    " (the command that trained them repairs or repeats them; `ffn-train check` says more)");
  if (!found.strangers.empty())
    notes.push_back(runs(found.strangers.size()) + "not what the study trains in that place, and left out: " + list_of(found.strangers) +
                    " (move them away; the study's command then trains what lacks)");
  if (!found.missing.empty())
    notes.push_back(runs(found.missing.size()) + "not there, but listed in study.json: " + list_of(found.missing));
  if (!found.extra.empty())
    notes.push_back(runs(found.extra.size()) + "left out, being no part of the study (study.json): " + list_of(found.extra) +
                    "; --all takes them in");
  if (found.tuning.count > 0)
    notes.push_back(runs(found.tuning.count) + "left out: tuning runs choose values on seeds of their own, and judge nothing (" +
                    list_of(found.tuning.studies) + "; named alone, a tuning study is compared)");
  return notes;
}

}  // namespace ffn
