// ffn-train diff A B: compare two runs, studies or configs.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// Keys that one side alone may have; they are then no difference.
constexpr const char *kVariant = "variant", *kContent = "content of task.file (SHA-256)";

/// A run, or the runs of a study, done or planned.
struct DiffSide {
  std::string name;
  std::vector<FoundRun> runs;
  std::map<std::string, std::vector<std::string>> keys;  ///< in the order of the runs
};

DiffSide side_of(const std::string& name) {
  DiffSide side{name, {}, {}};
  Json document = Json::object();
  if (const fs::path directory = named_directory(expand_home(name)); directory_exists(directory)) {
    side.runs = find_runs({directory}).runs;
    if (side.runs.empty()) throw DataError("no run below " + name, "name a run, a study or a config; `ffn-train runs` lists runs");
    if (has_study_file(directory)) document = read_study_json(directory).value("document", document);
  } else {
    const Document read = load_with_overrides(name, {});
    document = read.tree();
    const auto plan = [&](const RunConfig& config, std::int64_t seed) {
      side.runs.push_back(pending_run(config, name));
      side.runs.back().seed = seed;
    };
    if (is_study(read)) {
      const Study study = read_study(read, name);
      for (const auto seed : study.seeds) {
        for (const auto& variant : study.variants) {
          plan(variant.config, seed);
          side.runs.back().variant = variant.name;
        }
      }
    } else {
      const RunConfig config = read_run_config(read, name);
      plan(config, config.seed);
    }
  }
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& values = side.keys[key];
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  for (const auto& run : side.runs) {
    add("seed", std::to_string(run.seed));
    if (side.runs.size() > 1) add(kVariant, run.variant);
    if (!run.text.empty()) add(kContent, run.text.substr(0, 16));
    for (const auto& [key, value] : run.keys) add(key, value);
  }
  for (const char* section : {"question", "expect", "compare", "tune"}) {
    if (!document.contains(section)) continue;
    for (const auto& [key, value] : flat_keys({{section, document[section]}})) add(key, value);
  }
  return side;
}

const std::vector<std::string>& side_values(const DiffSide& side, const std::string& key) {
  static const std::vector<std::string> kNone;
  const auto found = side.keys.find(key);
  return found == side.keys.end() ? kNone : found->second;
}

std::vector<std::string> different_keys(const DiffSide& a, const DiffSide& b) {
  std::set<std::string> keys;
  for (const auto* side : {&a, &b}) {
    for (const auto& [key, values] : side->keys) keys.insert(key);
  }
  std::vector<std::string> out;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(out), [&](const auto& key) {
    const auto &of_a = side_values(a, key), &of_b = side_values(b, key);
    return of_a != of_b && ((key != kVariant && key != kContent) || (!of_a.empty() && !of_b.empty()));
  });
  return out;
}

// "-" without one; of many the first, the last and their number.
std::string values_text(const std::vector<std::string>& values) {
  constexpr std::size_t kMost = 6;
  if (values.size() <= kMost) return values.empty() ? "-" : join(values);
  return join({values.begin(), values.begin() + 3}) + ", … " + values.back() + " (" + format_count(values.size()) + " values)";
}

Json values_json(const std::vector<std::string>& values) {
  return values.empty() ? Json(nullptr) : values.size() == 1 ? Json(values[0]) : Json(values);
}

/// One metric of a run; a diverged run has no final value.
struct ShownResult {
  std::optional<double> final_value, best;
};

ShownResult shown_result(const FoundRun& run, const std::string& metric) {
  const auto* found = run.summary ? run.summary->find(metric) : nullptr;
  if (!found) return {};
  return {run.state == RunState::diverged ? std::nullopt : std::optional(found->final_value),
          found->best ? std::optional(found->best->value) : std::nullopt};
}

std::vector<std::string> metrics_of(const FoundRun& a, const FoundRun& b) {
  std::vector<std::string> out;
  for (const auto* run : {&a, &b}) {
    if (!run->summary) continue;
    for (const auto& metric : run->summary->metrics) {
      if (std::find(out.begin(), out.end(), metric.name) == out.end()) out.push_back(metric.name);
    }
  }
  return out;
}

std::optional<double> hit_step(const FoundRun& run) {
  return run.summary && run.summary->hit ? std::optional(static_cast<double>(run.summary->hit->step)) : std::nullopt;
}

void print_differences(const DiffSide& a, const DiffSide& b, const CommonOptions& common) {
  print_text("A  " + a.name + "\nB  " + b.name + "\n");
  Table keys({{"key", Align::left}, {"A", Align::left}, {"B", Align::left}});
  for (const auto& key : different_keys(a, b)) keys.add_row({key, values_text(side_values(a, key)), values_text(side_values(b, key))});
  if (keys.num_rows() > 0) print_table(keys, common);
  else print_text("their configs are the same");
  if (a.runs.size() != 1 || b.runs.size() != 1) return;
  const FoundRun &x = a.runs[0], &y = b.runs[0];
  const auto metrics = metrics_of(x, y);
  if (metrics.empty()) return;
  const auto cell = [](const std::optional<double>& value) { return value ? shown_number(*value) : "-"; };
  Table table({{"result", Align::left}, {"A", Align::right}, {"B", Align::right}, {"best A", Align::right}, {"best B", Align::right}});
  table.add_row({"state", to_string(x.state), to_string(y.state), "", ""});
  if (hit_step(x) || hit_step(y)) table.add_row({"steps_to_target", cell(hit_step(x)), cell(hit_step(y)), "", ""});
  for (const auto& metric : metrics) {
    const auto of_x = shown_result(x, metric), of_y = shown_result(y, metric);
    table.add_row({metric, cell(of_x.final_value), cell(of_y.final_value), cell(of_x.best), cell(of_y.best)});
  }
  std::cout << "\n";
  print_table(table, common);
}

Json differences_json(const DiffSide& a, const DiffSide& b) {
  Json out = {{"a", a.name}, {"b", b.name}, {"config", Json::array()}};
  for (const auto& key : different_keys(a, b))
    out["config"].push_back({{"key", key}, {"a", values_json(side_values(a, key))}, {"b", values_json(side_values(b, key))}});
  if (a.runs.size() != 1 || b.runs.size() != 1) return out;
  const auto number = [](const std::optional<double>& value) { return value ? store::number_json(*value) : Json(nullptr); };
  const auto result = [&](const FoundRun& run) {
    Json metrics = Json::object();
    for (const auto& metric : metrics_of(run, run)) {
      const auto outcome = shown_result(run, metric);
      metrics[metric] = {{"final", number(outcome.final_value)}, {"best", number(outcome.best)}};
    }
    return Json{{"state", to_string(run.state)}, {"steps_to_target", number(hit_step(run))}, {"metrics", metrics}};
  };
  out["results"] = {{"a", result(a.runs[0])}, {"b", result(b.runs[0])}};
  return out;
}

}  // namespace

void add_diff(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("diff", "compare two runs, studies or configs");
  auto a = std::make_shared<std::string>(), b = std::make_shared<std::string>();
  command.option("a", *a, "a run, a study or a config").required().type("CONFIG|RUN");
  command.option("b", *b, "another").required().type("CONFIG|RUN");
  add_output_options(command, common);
  command.run([&common, a, b] {
    const DiffSide left = side_of(*a), right = side_of(*b);
    if (common.json) print_json(differences_json(left, right));
    else print_differences(left, right, common);
    return 0;
  });
}

}  // namespace ffn::app
