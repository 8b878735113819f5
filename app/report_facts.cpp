#include "report_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/base/text.hpp"
#include "ffn/base/version.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/store/metrics_file.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostValues = 20;
constexpr std::size_t kMostSteps = 120;  // of a curve on the page, which enlarges them

// "a, b, c" of few, and how many more of many.
std::string join_few(const std::vector<std::string>& values) {
  if (values.size() <= kMostValues) return join(values);
  return join({values.begin(), values.begin() + kMostValues}) + " and " + std::to_string(values.size() - kMostValues) + " more";
}

/// The last session of every run; null where it cannot be read. It says where numbers come from, and none rests on it.
std::vector<Json> read_metas(const std::vector<FoundRun>& runs) {
  std::vector<Json> metas(runs.size());
  side_by_side(std::max(1u, std::thread::hardware_concurrency()), runs.size(), [&](std::size_t i) {
    try {
      const auto record = read_record(runs[i].path);
      if (record && !record->sessions->empty()) metas[i] = record->sessions->back();
    } catch (const Error&) {
    }
  });
  return metas;
}

std::string meta_text(const Json& meta, const char* key) {
  if (!meta.is_object() || !meta.contains(key)) return "";
  const auto& value = meta.at(key);
  return value.is_string() ? value.get<std::string>() : dump_json_lossy(value);
}

std::vector<std::pair<std::string, std::string>> environment_of(const std::vector<Json>& metas) {
  constexpr std::pair<const char*, const char*> kShown[] = {
      {"ffn-train", "version"}, {"commit", "git_commit"}, {"compiler", "compiler"}, {"CPU", "cpu"},       {"cores", "cores"},
      {"host", "host"},         {"system", "kernel"},     {"engine", "engine"},     {"device", "device"}, {"instructions", "kernel_isa"},
      {"LibTorch", "libtorch"}};
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [name, key] : kShown) {
    std::vector<std::string> values;
    for (const auto& meta : metas) {
      const auto value = meta_text(meta, key);
      if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
    if (!values.empty()) out.emplace_back(name, join_few(values));
  }
  std::string first, last;
  for (const auto& meta : metas) {
    const auto started = meta_text(meta, "started");
    if (started.empty()) continue;
    if (first.empty() || started < first) first = started;
    last = std::max(last, started);
  }
  if (!first.empty()) out.emplace_back("trained", first == last ? first : first + " to " + last);
  return out;
}

// Commands as typed; the program by its name, without its directory.
std::vector<std::string> training_commands(const std::vector<Json>& metas) {
  constexpr std::size_t kMostCommands = 5;
  std::vector<std::string> commands;
  for (const auto& meta : metas) {
    if (!meta.is_object() || !meta.contains("argv") || !meta["argv"].is_array()) continue;
    std::vector<std::string> words;
    for (const auto& word : meta["argv"]) words.push_back(words.empty() ? "ffn-train" : word.is_string() ? word.get<std::string>() : "");
    const auto command = shell_command(words);
    if (std::find(commands.begin(), commands.end(), command) == commands.end()) commands.push_back(command);
  }
  if (commands.size() > kMostCommands) {
    const std::size_t more = commands.size() - kMostCommands;
    commands.resize(kMostCommands);
    commands.push_back("# and " + std::to_string(more) + " more");
  }
  return commands;
}

// 1: it has ended; of a run that trains, by its last evaluation.
double share_done(const FoundRun& run) {
  if (run.state == RunState::done || run.state == RunState::diverged || run.state == RunState::failed) return 1;
  if (run.state == RunState::pending || run.budget_steps <= 0) return 0;
  try {
    const auto evaluations = read_metrics(RunDirectory(run.path).metrics_path());
    const double share = evaluations.empty() ? 0 : static_cast<double>(evaluations.back().step) / static_cast<double>(run.budget_steps);
    return std::min(share, 0.999);  // its files are still to come
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

std::unique_ptr<Report> make_report(const CompareQuestion& question, const std::function<void(int)>& finished) {
  auto out = std::make_unique<Report>();
  const std::vector<fs::path> directories(question.directories.begin(), question.directories.end());
  Targets targets;
  out->comparison = answer_to(question, [&](const FoundRuns& found) {
    out->facts = facts_of(found, directories);
    targets = targets_of(found);
    finished(1);
  });
  finished(2);
  const auto curves = report::read_curves(out->comparison, curves_worth_drawing(targets, out->comparison.metric), kMostSteps);
  finished(3);
  out->data = report::comparison_data(out->comparison, curves, surfaces_of(out->comparison));
  return out;
}

fs::path report_path(const CompareQuestion& question) {
  return question.directories.size() == 1 ? fs::path(question.directories[0]) / "report.html" : fs::path("report.html");
}

report::ReportFacts facts_of(const FoundRuns& found, const std::vector<fs::path>& directories) {
  report::ReportFacts facts;
  std::vector<std::string> names, words = {"ffn-train", "compare"};
  for (const auto& directory : directories) {
    names.push_back(absolute_path(directory).lexically_normal().filename().string());
    if (names.back().empty()) names.back() = absolute_path(directory).lexically_normal().parent_path().filename().string();
    words.push_back(directory.string());
  }
  facts.title = join_few(names);
  if (directories.size() == 1) {
    try {
      if (const auto study = read_study_file(directories[0])) {
        facts.title = study->name;
        const auto text = [&](const char* key) {
          return study->document->contains(key) && (*study->document)[key].is_string() ? (*study->document)[key].get<std::string>() : "";
        };
        facts.question = text("question");
        facts.source = text("source");
        facts.config = dump_json_lossy(*study->document, 2);
      }
    } catch (const Error&) {  // find_runs says so
    }
  }
  facts.num_runs = found.runs.size();
  for (const auto& run : found.runs) {
    const double done = share_done(run);
    facts.done += done;
    facts.num_ended += done == 1;
  }
  facts.written = utc_now();
  facts.version = kVersion;
  for (const auto& run : found.runs) {
    if (run.state == RunState::diverged || run.state == RunState::failed)
      facts.lost.push_back({run.path.string(), to_string(run.state), run.reason});
  }
  for (const auto& key : varying_keys(found.runs)) facts.varying.emplace_back(key, join_few(ordered_values(found.runs, key)));
  const auto metas = read_metas(found.runs);
  facts.environment = environment_of(metas);
  facts.commands = training_commands(metas);
  facts.commands.push_back(shell_command(words));
  words[1] = "report";
  facts.commands.push_back(shell_command(words));
  return facts;
}

Targets targets_of(const FoundRuns& found) {
  Targets targets;
  for (const auto& run : found.runs) {
    const auto metric = run.keys.find("train.target.metric");
    if (metric == run.keys.end()) continue;
    const std::string low = value_of(run, "train.target.at_least");
    const std::string limit = low != "null" && low != "-" ? low : value_of(run, "train.target.at_most");
    targets.insert({metric->second, std::strtod(limit.c_str(), nullptr)});
  }
  return targets;
}

std::vector<report::CurveRequest> curves_worth_drawing(const Targets& targets, const std::string& compared) {
  std::vector<report::CurveRequest> out;
  const auto add = [&](const std::string& metric) {
    if (std::any_of(out.begin(), out.end(), [&](const auto& request) { return request.metric == metric; })) return;
    const bool has_target = targets.size() == 1 && targets.begin()->first == metric;
    out.push_back({metric, has_target ? std::optional<double>(targets.begin()->second) : std::nullopt});
  };
  if (!is_time_metric(compared)) add(without_best(compared));
  else if (targets.size() == 1) add(targets.begin()->first);
  add("val/loss");
  return out;
}

}  // namespace ffn::app
