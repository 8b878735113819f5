// ffn-train runs [DIR...]: a line for each run and each study.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "../commands.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/note_file.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct RunsOptions {
  std::vector<std::string> directories, where;
};

/// One run as it stands.
struct ListedStanding {
  std::string state;
  std::string metric;  ///< of a program its first one, otherwise val/loss
  std::optional<double> best;
  std::optional<double> written;  ///< when run.json was, in seconds since 1970
};

// True if a run's record says "running" and the process that wrote it is gone.
bool was_killed(const RunRecord& record) {
  return record.host == host_name() && record.pid > 0 && ::kill(static_cast<pid_t>(record.pid), 0) != 0 && errno == ESRCH;
}

ListedStanding standing_of(const fs::path& run) {
  struct stat file = {};
  const bool is_there = ::stat(RunDirectory(run).record_path().c_str(), &file) == 0;
  ListedStanding out{"damaged", "val/loss", {}, is_there ? std::optional(static_cast<double>(file.st_mtime)) : std::nullopt};
  try {
    const auto record = read_record(run);
    if (!record) return out;
    out.state = record->state == RunState::running && was_killed(*record) ? "killed" : to_string(record->state);
    if (const auto updated = seconds_of(record->updated)) out.written = updated;
    if (const Json::json_pointer program("/engine/metrics"); record->config->contains(program))
      out.metric = record->config->at(program).begin().key();
    const auto* metric = record->summary ? record->summary->find(out.metric) : nullptr;
    if (metric && metric->best && metric_direction(out.metric) == false) out.best = metric->best->value;
  } catch (const VersionError&) {
    out.state = "another version's";
  } catch (const Error&) {  // `check` says what is wrong
  }
  return out;
}

/// A run that is there, or that a study lists.
struct ListedRun {
  fs::path path;
  ListedStanding standing;
  const FoundRun* config = nullptr;  ///< where --where asks, and it can be read
};

std::vector<ListedRun> runs_below(const std::vector<fs::path>& directories) {
  const auto places = find_run_places(directories);
  std::vector<ListedRun> out(places.there.size());
  side_by_side(8, out.size(), [&](std::size_t i) { out[i] = {places.there[i], standing_of(places.there[i])}; });
  for (const auto& path : places.missing) out.push_back({path, {"not begun", {}, {}, {}}});
  return out;
}

// ---- --where

const std::vector<std::string> kOwnKeys = {"state", "seed", "label", "variant"};

// Keys as in `compare --by`, including those that do not vary.
std::string key_meant(const std::string& asked, const std::vector<FoundRun>& runs) {
  std::set<std::string> all(kOwnKeys.begin(), kOwnKeys.end());
  for (const auto& run : runs) {
    for (const auto& [key, value] : run.keys) all.insert(key);
  }
  if (all.count(asked) > 0) return asked;
  const auto inside = all.lower_bound(asked + ".");
  const bool is_section = inside != all.end() && inside->rfind(asked + ".", 0) == 0;
  if (const auto meant = did_you_mean(asked, {all.begin(), all.end()}); !is_section && !meant.empty())
    throw UsageError("no run has a key \"" + asked + "\"" + meant, "keys are those of the configs, and " + join(kOwnKeys));
  auto known = varying_keys(runs);
  known.insert(known.end(), kOwnKeys.begin(), kOwnKeys.end());
  return pick_by(asked, runs, known);
}

// Nothing of a run whose config cannot be read.
std::optional<std::string> value_in(const ListedRun& run, const std::string& key) {
  if (key == "state") return run.standing.state;
  if (!run.config) return std::nullopt;
  return key == "seed" ? std::to_string(run.config->seed) : key == "label" ? run.config->label : value_of(*run.config, key);
}

// 1e-2, .01 and 0.010 are 0.01, as run.json has it.
std::string as_in_config(const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  const bool is_number = !value.empty() && *end == 0 && std::isfinite(number);
  const Json parsed = is_number ? parse_json(number_text(number)) : parse_json(value);
  return parsed.is_discarded() || parsed.is_object() ? value : flat_keys({{"value", parsed}}).at("value");
}

// The listed ones that have key=value.
void keep_where(const std::string& condition, const std::vector<FoundRun>& configs, std::vector<ListedRun>& listed) {
  const auto equals = condition.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("--where needs key=value, got '" + condition + "'",
                     "for example --where state=failed or --where model.ffn.activation=relu");
  const std::string key = key_meant(condition.substr(0, equals), configs), value = condition.substr(equals + 1);
  std::set<std::string> values;
  const auto differs = [&](const ListedRun& run) {
    const auto has = value_in(run, key);
    if (has) values.insert(*has);
    return !has || (*has != value && *has != as_in_config(value));
  };
  listed.erase(std::remove_if(listed.begin(), listed.end(), differs), listed.end());
  if (listed.empty() && !values.empty())
    log_info("no run has " + condition + "; here " + key + " is " + join({values.begin(), values.end()}));
}

// ---- the list

/// A run by itself, or a study.
struct ListedEntry {
  bool is_study = false;
  std::map<std::string, std::size_t> states;
  std::size_t runs = 0, left = 0;  ///< those that belong to it; those in its directory that do not (any more)
  std::optional<double> best, written;
  std::string metric;  ///< of the best
  fs::path best_run;
  std::vector<std::string> note;  ///< line by line
};

// The runs that a study.json lists.
std::set<fs::path> listed_in(const fs::path& study) {
  std::set<fs::path> out;
  try {
    const auto file = read_study_file(study);
    if (!file) return out;
    for (auto& run : file->run_directories(study)) out.insert(std::move(run));
  } catch (const Error&) {  // `check` says what is wrong
  }
  return out;
}

// Whether a study is one of these directories, or around one.
bool is_named(const fs::path& study, const std::vector<fs::path>& directories) {
  return std::any_of(directories.begin(), directories.end(), [&](const fs::path& directory) {
    return *absolute_path(directory).lexically_normal().lexically_relative(absolute_path(study).lexically_normal()).begin() != "..";
  });
}

// A study is one entry; the runs of one that is named, and those that --where finds, have theirs, too.
std::map<fs::path, ListedEntry> entries_below(const std::vector<fs::path>& directories, const std::vector<std::string>& where) {
  auto runs = runs_below(directories);
  const auto configs = where.empty() ? std::vector<FoundRun>() : find_runs(directories, Extras::include).runs;
  std::map<fs::path, const FoundRun*> config_of;
  for (const auto& config : configs) config_of[config.path] = &config;
  for (auto& run : runs) run.config = config_of[run.path];
  for (const auto& condition : where) keep_where(condition, configs, runs);

  std::map<fs::path, ListedEntry> entries;
  std::map<fs::path, std::set<fs::path>> listed;
  // A study's runs stand two levels below it.
  const auto study_of = [&](const fs::path& run) -> std::optional<fs::path> {
    const fs::path study = run.parent_path().parent_path();
    if (study.empty() || !has_study_file(study)) return std::nullopt;
    if (!listed.count(study)) listed[study] = listed_in(study);
    return study;
  };
  const auto add = [&](ListedEntry& entry, const ListedRun& run) {
    const auto& [state, metric, best, written] = run.standing;
    ++entry.runs;
    ++entry.states[state];
    if (best && (!entry.best || *best < *entry.best)) {
      entry.best = best;
      entry.metric = metric;
      entry.best_run = run.path;
    }
    if (written && (!entry.written || *written > *entry.written)) entry.written = written;
  };
  for (const auto& run : runs) {
    const auto study = where.empty() ? study_of(run.path) : std::nullopt;
    if (!study || is_named(*study, directories)) add(entries[run.path], run);
    if (!study) continue;
    ListedEntry& entry = entries[*study];
    entry.is_study = true;
    if (!listed[*study].count(run.path)) ++entry.left;
    else add(entry, run);
  }
  for (auto& [path, entry] : entries) {
    try {
      entry.note = read_note(path);
    } catch (const Error& error) {  // hides nothing else
      log_warning(error.what());
    }
  }
  return entries;
}

// "Nov 27 03:07" in local time; "2025-11-27" in another year.
std::string date_text(const std::optional<double>& written) {
  if (!written) return "-";
  const auto then = static_cast<std::time_t>(*written), now = std::time(nullptr);
  std::tm parts{}, today{};
  ::localtime_r(&then, &parts);
  ::localtime_r(&now, &today);
  char text[32];
  std::strftime(text, sizeof text, parts.tm_year == today.tm_year ? "%b %e %H:%M" : "%Y-%m-%d", &parts);
  return text;
}

// As commands take it: the identity of a run where the path without it would mean several.
std::string shown_path(const fs::path& path, const std::map<fs::path, ListedEntry>& entries) {
  const auto stem = [](const fs::path& run) {
    return is_run_directory_name(run.filename().string()) ? fs::path(run).replace_extension() : run;
  };
  const auto same = [&](const auto& entry) { return stem(entry.first) == stem(path); };
  // Entries go by path: those of one stem stand beside each other.
  auto beside = entries.find(path);
  const bool before = beside != entries.begin() && same(*std::prev(beside)), after = ++beside != entries.end() && same(*beside);
  return (before || after ? path : stem(path)).string();
}

std::string state_text(const ListedEntry& entry) {
  if (!entry.is_study) return entry.states.begin()->first;
  std::vector<std::string> parts;
  for (const auto& [state, count] : entry.states)
    parts.push_back((count == entry.runs ? "all " : "") + format_count(count) + " " + state +
                    (parts.empty() && count < entry.runs ? " of " + format_count(entry.runs) : ""));
  if (entry.left > 0) parts.push_back(format_count(entry.left) + " of earlier configs");
  return join(parts);
}

// Null if some of it cannot be read.
Json whole_size(const fs::path& path) {
  try {
    return bytes_below(path);
  } catch (const ReadError&) {
    return nullptr;
  }
}

Json entry_json(const fs::path& path, const ListedEntry& entry) {
  Json states = Json::object();
  for (const auto& [state, count] : entry.states) states[state] = count;
  Json best = nullptr;
  if (entry.best) best = {{"metric", entry.metric}, {"value", *entry.best}, {"run", entry.best_run.string()}};
  return {{"path", path.string()},
          {"kind", entry.is_study ? "study" : "run"},
          {"runs", entry.runs},
          {"states", states},
          {"left", entry.left},
          {"best", best},
          {"age_seconds", entry.written ? Json(static_cast<double>(std::time(nullptr)) - *entry.written) : Json(nullptr)},
          {"bytes", whole_size(path)},
          {"note", entry.note}};
}

int runs(const RunsOptions& options, const CommonOptions& common) {
  std::vector<fs::path> directories;
  for (const auto& given : options.directories) {
    directories.push_back(named_directory(given));
    if (!path_exists(directories.back()))
      throw UsageError("no directory " + given, "name the one that results went to: ffn-train runs DIR");
  }
  const auto entries = entries_below(directories, options.where);
  if (common.json) {
    Json out = Json::array();
    for (const auto& [path, entry] : entries) out.push_back(entry_json(path, entry));
    print_json(out);
    return 0;
  }
  const bool noted = std::any_of(entries.begin(), entries.end(), [](const auto& entry) { return !entry.second.note.empty(); });
  std::vector<Column> columns = {{"run or study"}, {"state"}, {"best loss", Align::right}, {"last written"}, {"size", Align::right}};
  if (noted) columns.push_back({"note"});
  Table table(columns);
  for (const auto& [path, entry] : entries) {
    const Json size = whole_size(path);
    std::vector<std::string> cells = {shown_path(path, entries), state_text(entry), entry.best ? format_significant(*entry.best) : "-",
                                      date_text(entry.written), size.is_null() ? "?" : format_bytes(size.get<double>())};
    if (noted) cells.push_back(join(entry.note, "; "));
    table.add_row(std::move(cells));
  }
  if (entries.empty())
    print_text("no " + std::string(options.where.empty() ? "runs" : "such runs") + " below " + join(options.directories));
  else print_table(table, common);
  std::size_t aside = 0;
  double bytes = 0;
  for (const auto& directory : directories) {
    for (const auto& one : find_leftovers(directory)) {
      ++aside;
      bytes += static_cast<double>(one.bytes);
    }
  }
  if (aside > 0)
    print_text("\nearlier results and damaged runs: " + format_count(aside) + " (" + format_bytes(bytes) +
               "); ffn-train clean removes them");
  return 0;
}

}  // namespace

void add_runs(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("runs", "list runs and studies: state, best loss, date, size");
  auto options = std::make_shared<RunsOptions>();
  command.option("directories", options->directories, "directories of results, or studies, whose runs are then listed; runs otherwise")
      .type("DIR...")
      .directory();
  command.option("--where", options->where, "only runs with this in their config, or state, seed, label or variant; may be repeated")
      .type("KEY=VALUE");
  add_output_options(command, common);
  command.run([&common, options] {
    if (options->directories.empty()) options->directories = {"runs"};
    return runs(*options, common);
  });
}

}  // namespace ffn::app
