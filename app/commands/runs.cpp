// ffn-train runs [DIR]: what is there, a line for each run and each study.
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "../commands.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

constexpr const char* kMetric = "val/loss";

/// One run as it stands.
struct ListedStanding {
  std::string state;
  std::optional<double> best;     ///< of kMetric
  std::optional<double> seconds;  ///< since run.json was written
};

// Seconds since a time as utc_now() writes it.
std::optional<double> seconds_since(const std::string& utc) {
  const auto then = seconds_of(utc);
  return then ? std::optional(static_cast<double>(std::time(nullptr)) - *then) : std::nullopt;
}

// Of a run whose record says that it trains: whether the process that wrote so is gone.
bool was_killed(const RunRecord& record) {
  return record.host == host_name() && record.pid > 0 && ::kill(static_cast<pid_t>(record.pid), 0) != 0 && errno == ESRCH;
}

ListedStanding standing_of(const fs::path& run) {
  ListedStanding out;
  try {
    const auto record = read_record(run);
    if (!record) return {"damaged", {}, {}};
    out.state = record->state == RunState::running && was_killed(*record) ? "killed" : to_string(record->state);
    out.seconds = seconds_since(record->updated);
    const auto* metric = record->summary ? record->summary->find(kMetric) : nullptr;
    if (metric && metric->best) out.best = metric->best->value;
  } catch (const Error&) {  // `check` says what is wrong
    out.state = "damaged";
  }
  return out;
}

/// A run by itself, or a study.
struct ListedEntry {
  bool is_study = false;
  std::map<std::string, std::size_t> states;
  std::size_t runs = 0, left = 0;  ///< those that belong to it; those in its directory that do not (any more)
  std::optional<double> best, seconds;
  fs::path best_run;
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

std::map<fs::path, ListedEntry> entries_below(const std::string& directory) {
  const auto places = find_run_places({directory});
  std::vector<ListedStanding> standings(places.there.size());
  side_by_side(8, standings.size(), [&](std::size_t i) { standings[i] = standing_of(places.there[i]); });
  std::map<fs::path, ListedEntry> entries;
  std::map<fs::path, std::set<fs::path>> listed;
  // A study's runs stand two levels below it.
  const auto study_of = [&](const fs::path& run) -> std::optional<fs::path> {
    const fs::path study = run.parent_path().parent_path();
    if (study.empty() || !has_study_file(study)) return std::nullopt;
    if (!listed.count(study)) listed[study] = listed_in(study);
    return study;
  };
  const auto add = [&](ListedEntry& entry, const fs::path& run, const ListedStanding& standing) {
    ++entry.runs;
    ++entry.states[standing.state];
    if (standing.best && (!entry.best || *standing.best < *entry.best)) {
      entry.best = standing.best;
      entry.best_run = run;
    }
    if (standing.seconds && (!entry.seconds || *standing.seconds < *entry.seconds)) entry.seconds = standing.seconds;
  };
  for (std::size_t i = 0; i < places.there.size(); ++i) {
    const fs::path& run = places.there[i];
    const auto study = study_of(run);
    ListedEntry& entry = entries[study ? *study : run];
    entry.is_study = study.has_value();
    if (study && !listed[*study].count(run)) ++entry.left;
    else add(entry, run, standings[i]);
  }
  for (const auto& run : places.missing) {
    if (const auto study = study_of(run)) {
      entries[*study].is_study = true;
      add(entries[*study], run, {"not begun", {}, {}});
    }
  }
  return entries;
}

// Records have whole seconds.
std::string age_text(const std::optional<double>& seconds) {
  if (!seconds) return "-";
  return *seconds < 1 ? "now" : format_duration(*seconds);
}

std::string state_text(const ListedEntry& entry) {
  if (!entry.is_study) return entry.states.begin()->first;
  std::vector<std::string> parts;
  for (const auto& [state, count] : entry.states)
    parts.push_back((count == entry.runs ? "all " : "") + format_count(count) + " " + state +
                    (parts.empty() && count < entry.runs ? " of " + format_count(entry.runs) : ""));
  if (entry.left > 0) parts.push_back(format_count(entry.left) + " more that left it");
  return join(parts);
}

Json entry_json(const fs::path& path, const ListedEntry& entry) {
  Json states = Json::object();
  for (const auto& [state, count] : entry.states) states[state] = count;
  Json best = nullptr;
  if (entry.best) best = {{"metric", kMetric}, {"value", *entry.best}, {"run", entry.best_run.string()}};
  return {{"path", path.string()},
          {"kind", entry.is_study ? "study" : "run"},
          {"runs", entry.runs},
          {"states", states},
          {"left", entry.left},
          {"best", best},
          {"age_seconds", entry.seconds ? Json(*entry.seconds) : Json(nullptr)},
          {"bytes", bytes_below(path)}};
}

int runs(const std::string& directory, const CommonOptions& common) {
  if (!path_exists(directory)) throw UsageError("no directory " + directory, "name the one that results went to: ffn-train runs DIR");
  const auto entries = entries_below(directory);
  if (common.json) {
    Json out = Json::array();
    for (const auto& [path, entry] : entries) out.push_back(entry_json(path, entry));
    print_json(out);
    return 0;
  }
  Table table({{"run or study", Align::left},
               {"state", Align::left},
               {std::string("best ") + kMetric, Align::right},
               {"age", Align::right},
               {"size", Align::right}});
  for (const auto& [path, entry] : entries) {
    table.add_row({path.string(), state_text(entry), entry.best ? format_significant(*entry.best) : "-", age_text(entry.seconds),
                   format_bytes(static_cast<double>(bytes_below(path)))});
  }
  if (entries.empty()) print_text("no runs below " + directory);
  else print_table(table, common);
  const auto aside = find_leftovers(directory);
  double bytes = 0;
  for (const auto& one : aside) bytes += static_cast<double>(one.bytes);
  if (!aside.empty())
    print_text("\nearlier results and damaged runs: " + format_count(aside.size()) + " (" + format_bytes(bytes) +
               "); ffn-train clean removes them");
  return 0;
}

}  // namespace

void add_runs(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("runs", "runs and studies: state, best loss, age, size");
  auto directory = std::make_shared<std::string>("runs");
  command.option("directory", *directory, "where results are").type("DIR").shows_default().directory();
  add_output_options(command, common);
  command.run([&common, directory] { return runs(*directory, common); });
}

}  // namespace ffn::app
