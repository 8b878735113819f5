#include "ffn/inspect/tensorboard.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "ffn/base/files.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/inspect/histograms.hpp"
#include "ffn/report/curves.hpp"
#include "ffn/store/event_file.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn::exports {
namespace fs = std::filesystem;

namespace {

constexpr double kAlpha = 0.05;

/// A run as it is written.
struct Written {
  const FoundRun* run;
  fs::path place;  ///< below the directory that is written to
  double origin;   ///< wall time of step 0
  std::vector<Evaluation> curve;
  std::string problem, note;
};

std::string group_of(const Written& written) { return written.place.parent_path().generic_string(); }

// The same again takes the place of the last export.
fs::path event_path(const fs::path& directory) { return directory / (std::string(kEventFilePrefix) + "0.ffn-train.0.0"); }

void write_events(const fs::path& directory, const std::string& events) {
  make_directories(directory);
  write_file_atomically(event_path(directory), events, Durability::cached);
}

// "activation=gelu/seed-0" of the runs of one study, with the study's name before it where there are several.
std::vector<fs::path> places_of(const std::vector<FoundRun>& runs) {
  std::vector<fs::path> paths;
  for (const auto& run : runs) paths.push_back(absolute_path(run.path).lexically_normal());
  fs::path common = paths[0].parent_path().parent_path();
  const auto holds = [&](const fs::path& path) {
    return *path.parent_path().lexically_relative(common).begin() != ".." && path.parent_path() != common;
  };
  while (common.has_relative_path() && !std::all_of(paths.begin(), paths.end(), holds)) common = common.parent_path();
  for (auto& path : paths) path = path.lexically_relative(common);
  return paths;
}

// When the first session of a run began; 0 where run.json does not say.
double start_of(const fs::path& run) {
  try {
    const auto record = read_record(run);
    if (!record || record->sessions->empty()) return 0;
    return seconds_of(record->sessions->front().value("started", std::string())).value_or(0);
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
  return 0;
}

// What a group agrees in, as the HParams tab wants it; of runs that differ in nothing, everything.
std::map<std::string, std::string> keys_of(const FoundRun& run, const Selection& selection) {
  if (selection.varying.empty()) return run.keys;
  std::map<std::string, std::string> keys;
  for (const auto& key : selection.varying) {
    if (const auto found = run.keys.find(key); found != run.keys.end()) keys.insert(*found);
  }
  return keys;
}

SessionEnd end_of(RunState state) {
  if (state == RunState::done) return SessionEnd::success;
  return state == RunState::diverged || state == RunState::failed ? SessionEnd::failure : SessionEnd::running;
}

void write_run(Written& written, const Selection& selection, const fs::path& directory, bool histograms) {
  const FoundRun& run = *written.run;
  written.curve = curve_of(run);
  written.origin = start_of(run.path);
  const double end = written.origin + (written.curve.empty() ? 0 : written.curve.back().time_s);
  std::string events = version_event(written.origin) + session_start_event(written.origin, group_of(written), keys_of(run, selection));
  for (const auto& evaluation : written.curve) events += evaluation_event(written.origin, evaluation);
  if (histograms && run.summary) {
    auto all = histograms_of(run, end);
    events += all.events;
    written.note = std::move(all.note);
  }
  if (end_of(run.state) != SessionEnd::running) events += session_end_event(end, end_of(run.state));
  write_events(directory / written.place, events);
}

std::vector<pictures::RunCurve> run_curves(const std::vector<const Written*>& seeds, const std::vector<GroupRun>& states,
                                           const std::vector<std::int64_t>& steps, const std::string& metric) {
  std::vector<pictures::RunCurve> out;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    pictures::RunCurve curve{&states[i], std::vector<double>(steps.size(), std::nan(""))};
    for (const auto& evaluation : seeds[i]->curve) {
      const auto at = static_cast<std::size_t>(std::lower_bound(steps.begin(), steps.end(), evaluation.step) - steps.begin());
      for (const auto& [name, value] : evaluation.metrics) {
        if (name == metric) curve.values[at] = value;
      }
    }
    out.push_back(std::move(curve));
  }
  return out;
}

void write_variant(const std::vector<const Written*>& seeds, const fs::path& directory) {
  std::set<std::int64_t> all_steps;
  std::vector<std::string> metrics;  // in the order in which they are logged
  std::vector<GroupRun> states;
  std::map<std::int64_t, double> times;  // of the first seed that was there
  for (const auto* seed : seeds) {
    GroupRun run{};
    run.state = seed->run->state;
    states.push_back(run);
    for (const auto& evaluation : seed->curve) {
      all_steps.insert(evaluation.step);
      times.emplace(evaluation.step, seed->origin + evaluation.time_s);
      for (const auto& [name, value] : evaluation.metrics) {
        if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
      }
    }
  }
  const std::vector<std::int64_t> steps(all_steps.begin(), all_steps.end());
  using Values = std::vector<std::pair<std::string, double>>;
  std::map<std::int64_t, Values> centre, low, high;
  for (const auto& metric : metrics) {
    const auto* row = find_metric_row(metric);
    const auto points = pictures::curve_points(steps, run_curves(seeds, states, steps, metric), row && row->higher_is_better,
                                               ShownCentre::mean, kAlpha, pictures::range_of(metric));
    for (const auto& point : points) {
      centre[point.step].emplace_back(metric, point.centre);
      low[point.step].emplace_back(metric, point.low);
      high[point.step].emplace_back(metric, point.high);
    }
  }
  const auto write = [&](const char* name, const std::map<std::int64_t, Values>& curve) {
    std::string events = version_event(curve.empty() ? 0 : times[curve.begin()->first]);
    for (const auto& [step, values] : curve) events += scalars_event(times[step], step, values);
    write_events(directory / name, events);
  };
  write("mean", centre);
  write("low", low);
  write("high", high);
}

}  // namespace

TensorBoardFiles write_tensorboard(const Selection& selection, const fs::path& directory, bool histograms,
                                   std::vector<std::string>& notes) {
  TensorBoardFiles out;
  out.directory = directory;
  const auto places = places_of(selection.runs);
  std::vector<Written> runs;
  for (std::size_t i = 0; i < places.size(); ++i) runs.push_back({&selection.runs[i], places[i], 0, {}, "", ""});
  side_by_side(std::max(1u, std::thread::hardware_concurrency()), runs.size(), [&](std::size_t i) {
    try {
      write_run(runs[i], selection, directory, histograms);
    } catch (const SystemError&) {  // what cannot be written here cannot be written elsewhere
      throw;
    } catch (const Error& error) {
      runs[i].problem = error.what();
    }
  });
  std::map<std::string, std::vector<const Written*>> variants;
  for (const auto& run : runs) {
    if (!run.problem.empty()) {
      note_left_out(notes, run.problem);
      continue;
    }
    if (!run.note.empty() && std::find(notes.begin(), notes.end(), run.note) == notes.end()) notes.push_back(run.note);
    ++out.num_runs;
    out.most_points = std::max(out.most_points, run.curve.size());
    variants[group_of(run)].push_back(&run);
  }
  for (const auto& [name, seeds] : variants) {
    if (seeds.size() < 2) continue;
    write_variant(seeds, directory / name);
    ++out.num_variants;
  }
  return out;
}

}  // namespace ffn::exports
