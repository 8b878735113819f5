// Run directories → FoundRun.
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/run_search.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/config/config_values.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/data/task.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// A layer that was written out as a formula (config/trained_activation.hpp) is compared as what its config said.
Json as_it_was_written(Json config) {
  const Json::json_pointer at("/model/ffn");
  if (!config.contains(at)) return config;
  Json& ffn = config[at];
  Json expert = ffn.value("expert", Json());
  for (Json* layer : {&ffn, &expert}) {
    const Json written = layer->is_object() ? layer->value("written_from", Json::object()) : Json::object();
    if (layer->is_object()) layer->erase("written_from");
    if (written.contains("kind") && layer == &expert) expert = nullptr;
    else if (written.contains("kind")) {
      for (const char* key : {"name", "formula", "parameters", "let", "init", "epsilon", "formulas"}) ffn.erase(key);
    }
    ffn.update(written);
  }
  if (ffn.contains("expert")) ffn["expert"] = expert;
  if (ffn.value("activation_parameters", Json()).empty()) ffn.erase("activation_parameters");
  return config;
}

/// Keys of one section at their defaults; where it has kinds, of one of them.
struct SectionDefaults {
  std::string prefix;                                        ///< "model.ffn."
  std::vector<std::pair<std::string, std::string>> kinds;    ///< "model.ffn.kind" and "moe"
  std::vector<std::pair<std::string, std::string>> entries;  ///< "model.ffn.top_k" and "2"
};

std::vector<SectionDefaults> defaults_by_section() {
  std::map<std::string, SectionDefaults> sections;
  for (const auto& [path, value] : default_values()) {
    const std::string of = path.substr(0, path.rfind('.') + 1);
    SectionDefaults& section = sections[of];
    std::string prefix;
    section.kinds.clear();
    for (std::size_t at = 0, open; at < of.size(); at = of.find('.', at) + 1) {
      const std::string part = of.substr(at, of.find('.', at) - at);
      open = part.find('[');
      prefix += part.substr(0, open) + ".";
      if (open != std::string::npos) section.kinds.emplace_back(prefix + "kind", part.substr(open + 1, part.size() - open - 2));
    }
    section.prefix = prefix;
    for (const auto& [key, text] : flat_keys({{prefix + path.substr(of.size()), *value}})) section.entries.emplace_back(key, text);
  }
  std::vector<SectionDefaults> out;
  for (auto& [path, section] : sections) out.push_back(std::move(section));
  return out;
}

bool has_keys_below(const std::map<std::string, std::string>& keys, const std::string& prefix) {
  const auto first = keys.lower_bound(prefix);
  return first != keys.end() && first->first.rfind(prefix, 0) == 0;
}

// Keys that are younger than the program that wrote the config.
void put_in_defaults(std::map<std::string, std::string>& keys) {
  static const auto sections = defaults_by_section();
  for (const auto& section : sections) {
    const bool is_there =
        has_keys_below(keys, section.prefix) && std::all_of(section.kinds.begin(), section.kinds.end(), [&](const auto& kind) {
          const auto found = keys.find(kind.first);
          return found != keys.end() && found->second == kind.second;
        });
    if (!is_there) continue;
    for (const auto& [key, text] : section.entries) {
      if (keys.count(key) == 0 && !has_keys_below(keys, key + ".")) keys.emplace(key, text);
    }
  }
}

constexpr const char* kInitHash = "model.init_hash";
constexpr const char* kCommandKey = "engine.command";

// Copies a config's facts into a run.
void apply_config(const Json& found, const fs::path& path, FoundRun& run) {
  const bool is_command = found.contains("engine");  // then the keys are another program's, and have its meaning
  const Json config = is_command ? found : as_it_was_written(found);
  run.path = path;
  run.variant = path.parent_path().filename().string();
  run.keys = flat_keys(config);
  run.seed = store::integer_from(config.value("seed", Json(0)), INT64_MIN, INT64_MAX);
  run.label = config.value("label", "");
  if (!is_command) {
    run.budget_steps = store::count_from(config.value(Json::json_pointer("/train/steps"), Json(0)));
    put_in_defaults(run.keys);
  }
  if (!is_command && run.keys.count("task.name") > 0) {
    if (is_named_task(run.keys["task.name"])) {  // the name says the rest
      for (auto key = run.keys.lower_bound("task."); key != run.keys.end();) {
        const bool is_said = key->first == "task.features" || key->first == "task.group" || key->first == "task.label" ||
                             key->first == "task.target" || key->first == "task.scored" || key->first == "task.tokens" ||
                             key->first.rfind("task.inputs", 0) == 0;
        key = is_said ? run.keys.erase(key) : std::next(key);
      }
    }
  }
  std::vector<const char*> of_no_run{"seed", "name", "label", "keep"};
  if (is_command) of_no_run.insert(of_no_run.end(), {"engine.timeout", "engine.workdir"});
  else of_no_run.insert(of_no_run.end(), {"train.checkpoint_every", "log.layers"});
  for (const char* key : of_no_run) run.keys.erase(key);
}

// In the study's words: its label, and its width, which may have been trained as another key.
Json in_words_of(const StudyFile::Variant& variant, Json config) {
  config["label"] = variant.label;
  const Json::json_pointer ffn("/model/ffn");
  if (!config.contains(ffn) || variant.width->empty()) return config;
  for (const char* key : kWidthKeys) {
    if (variant.width->contains(key)) config[ffn][key] = (*variant.width)[key];
    else config[ffn].erase(key);
  }
  return config;
}

bool tunes_width(const StudyFile& study) {
  const auto& keys = study.tuned ? study.tuned->keys : std::vector<std::string>();
  return std::any_of(keys.begin(), keys.end(), [](const std::string& key) { return key.rfind("model.ffn", 0) == 0; });
}

FoundRun read_run(const FoundPlace& place) {
  const RunDirectory directory(place.path);
  auto record = read_record(place.path);
  const std::string file = directory.record_path().string();
  if (!record) throw DataError(file + ": missing");
  if (place.study && record->identity != place.identity())
    throw DataError(file + ": of another run (identity " + record->identity + ", not " + place.identity() + ")");
  FoundRun run;
  try {
    const bool rewords = place.study && !tunes_width(*place.study);
    apply_config(rewords ? in_words_of(place.variant(), std::move(*record->config)) : *record->config, place.path, run);
  } catch (const Json::exception& error) {
    throw DataError(file + ": " + reason_of(error));
  }
  if (place.study) run.variant = place.variant().name;
  run.state = record->state;
  run.identity = record->identity;
  run.reason = record->reason;
  run.text = record->text;
  run.tokens_per_step = record->tokens_per_step;
  run.summary = std::move(record->summary);
  if (run.summary) {
    if (run.keys.count(kCommandKey) > 0) run.budget_steps = run.summary->steps;
    if (run.summary->steps > run.budget_steps)
      throw DataError(file + ": of " + std::to_string(run.summary->steps) + " steps in a run of " + std::to_string(run.budget_steps));
    run.flops_per_token = run.summary->cost.flops;
  }
  return run;
}

// One content of a file has one name, wherever it lay and whatever it was called when a run was trained; two have two, also where one took
// the other's place. `of`: what tells the contents of `key` apart; "" where there is none.
void name_contents(std::vector<FoundRun>& runs, const char* key, const std::function<std::string(const FoundRun&)>& of) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  for (auto& run : runs) {
    const auto file = run.keys.find(key);
    const std::string content = of(run);
    if (content.empty() || file == run.keys.end()) continue;
    const auto [known, is_new] = names.insert({content, file->second});
    if (is_new && !taken.insert(known->second).second) known->second += " (" + content.substr(0, 8) + ")";
    file->second = known->second;
  }
}

void name_files(std::vector<FoundRun>& runs) {
  name_contents(runs, "task.file", [](const FoundRun& run) { return run.keys.count(kCommandKey) > 0 ? "" : run.text; });
  name_contents(runs, kCommandKey,
                [](const FoundRun& run) { return run.text.empty() ? "" : sha256_hex(run.text + value_of(run, kCommandKey)); });
  name_contents(runs, "model.init_from",
                [](const FoundRun& run) { return names_every_seed(value_of(run, "model.init_from")) ? "" : value_of(run, kInitHash); });
  for (auto& run : runs) run.keys.erase(kInitHash);
}

// Runs that cannot be counted stand for themselves as pending, with the config of another of their variant: a table says what
// lacks. Those without such another go.
void stand_in(const std::vector<bool>& counted, const std::vector<FoundPlace>& places, std::vector<FoundRun>& runs) {
  if (std::find(counted.begin(), counted.end(), false) == counted.end()) return;
  std::map<std::pair<const StudyFile*, std::string>, std::size_t> by_variant;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (counted[i] && places[i].study) by_variant.insert({{places[i].study.get(), places[i].variant().name}, i});
  }
  std::vector<FoundRun> out;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (counted[i]) {
      out.push_back(runs[i]);
      continue;
    }
    if (!places[i].study) continue;
    const auto sibling = by_variant.find({places[i].study.get(), places[i].variant().name});
    if (sibling == by_variant.end()) continue;
    FoundRun run = runs[sibling->second];
    run.path = places[i].path;
    run.seed = places[i].study->seeds[places[i].index / places[i].study->variants.size()];
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
  apply_config(resolved_json(config), path, run);
  if (config.command) return run;
  const auto shape = task_shape(config.task);
  run.keys.erase(kInitHash);
  run.tokens_per_step = config.train.batch_size * shape.sequence_length;
  run.flops_per_token = model_cost(config.model, shape).total.flops;
  return run;
}

FoundRuns find_runs(const std::vector<fs::path>& directories, Extras extras) {
  auto search = search_runs(directories, TuningRuns::leave_out);
  FoundRuns found;
  found.damaged_studies = std::move(search.damaged_studies);
  auto& places = search.all;
  if (extras == Extras::leave_out) {
    for (const auto& place : places) {
      if (place.extra) found.extra.push_back(place.path.string());
    }
    places.erase(std::remove_if(places.begin(), places.end(), [](const FoundPlace& place) { return place.extra; }), places.end());
  }
  found.runs.resize(places.size());
  std::vector<std::string> problems(places.size());
  constexpr std::size_t kThreads = 8, kRunsPerThread = 32;
  side_by_side(std::min(kThreads, 1 + places.size() / kRunsPerThread), places.size(), [&](std::size_t i) {
    if (places[i].listed_only) return;
    try {
      found.runs[i] = read_run(places[i]);
    } catch (const Error& error) {  // one damaged run must not hide the others
      problems[i] = error.what();
    }
  });
  std::vector<bool> counted(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    counted[i] = !places[i].listed_only && problems[i].empty();
    if (places[i].listed_only) found.missing.push_back(places[i].path.string());
    else if (!counted[i]) found.left_out.push_back(problems[i]);
  }
  name_files(found.runs);
  stand_in(counted, places, found.runs);
  return found;
}

RunPlaces find_run_places(const std::vector<fs::path>& directories, TuningRuns tuning) {
  auto search = search_runs(directories, tuning);
  RunPlaces out;
  for (auto& place : search.all) (place.listed_only ? out.missing : out.there).push_back(std::move(place.path));
  out.studies = std::move(search.studies);
  out.damaged_studies = std::move(search.damaged_studies);
  return out;
}

std::vector<std::string> notes_about(const FoundRuns& found) {
  const auto runs = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " run is" : " runs are"); };
  std::vector<std::string> notes;
  for (const auto& problem : found.damaged_studies) notes.push_back(problem);
  for (const auto& [kind, paths] :
       {std::pair(&note::kLeftOut, &found.left_out), {&note::kMissing, &found.missing}, {&note::kExtra, &found.extra}}) {
    if (!paths->empty()) notes.push_back(note_text(*kind, {runs(paths->size()), list_of(*paths)}));
  }
  return notes;
}

}  // namespace ffn
