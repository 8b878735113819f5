// Run directories → FoundRun.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/compare/compare.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/core/files.hpp"
#include "ffn/record/log.hpp"
#include "ffn/record/run_directory.hpp"
#include "ffn/tasks/task.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

void flatten(const Json& value, const std::string& prefix, std::map<std::string, std::string>& out) {
  if (!value.is_object()) {
    const bool whole =
        value.is_number_float() && std::nearbyint(value.get<double>()) == value.get<double>() && std::abs(value.get<double>()) < 1e15;
    out[prefix] = value.is_string() ? value.get<std::string>() : whole ? std::to_string(value.get<std::int64_t>()) : dump_json(value);
    return;
  }
  for (const auto& item : value.items()) flatten(item.value(), prefix.empty() ? item.key() : prefix + "." + item.key(), out);
}

// What a config says, into a run.
void take_config(const Json& config, const fs::path& path, FoundRun& run) {
  run.path = path;
  run.variant = path.parent_path().filename().string();
  flatten(config, "", run.keys);
  run.seed = config.value("seed", std::int64_t{0});
  run.budget_steps = config.value("/train/steps"_json_pointer, std::int64_t{0});
  run.tokens_per_step = config.value("/train/batch_size"_json_pointer, std::int64_t{1});
  const std::string kind = run.keys["task.kind"];
  if (kind == "sequence_xor") run.tokens_per_step *= config.value("/task/length"_json_pointer, std::int64_t{1});
  if (kind == "text") run.tokens_per_step *= config.value("/task/context"_json_pointer, std::int64_t{1});
  for (const char* key : {"seed", "name", "train.checkpoint_every"}) run.keys.erase(key);  // what makes no other run
}

FoundRun read_run(const fs::path& path, const RunStatus& status) {
  FoundRun run;
  const std::string text = read_file(path / "config.json", "config", ExitCode::data, 1 << 22);
  const Json config = parse_json(text);
  if (config.is_discarded() || !config.is_object()) throw DataError((path / "config.json").string() + " is no JSON object");
  take_config(config, path, run);
  run.state = status.state;
  run.identity = status.identity;
  if (status.state == RunState::done || status.state == RunState::diverged) {
    run.summary = read_summary(path);
    if (!run.summary) throw DataError(path.string() + " has no summary.json");
    run.flops_per_token = run.summary->cost.flops;
  }
  return run;
}

void search(const fs::path& directory, std::vector<FoundRun>& runs) {
  if (fs::exists(directory / "status.json")) {
    // One damaged run must not hide the others; it counts as not there, and the log says so.
    try {
      if (const auto status = read_status(directory)) runs.push_back(read_run(directory, *status));
    } catch (const Error& error) {
      log_warning("left out: " + std::string(error.what()));
    }
    return;
  }
  std::error_code error;
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    // Directories that were moved aside hold earlier results, not this study's.
    const bool aside = entry.path().filename().string().find(".old-") != std::string::npos;
    if (!aside && entry.is_directory()) children.push_back(entry.path());
  }
  std::sort(children.begin(), children.end());
  for (const auto& child : children) search(child, runs);
}

}  // namespace

FoundRun pending_run(const RunConfig& config, const fs::path& path) {
  FoundRun run;
  take_config(resolved_json(config), path, run);
  run.flops_per_token = model_cost(config.model, task_shape(config.task)).total.flops;
  return run;
}

std::vector<FoundRun> find_runs(const std::vector<fs::path>& directories) {
  std::vector<FoundRun> runs;
  for (const auto& directory : directories) {
    if (!fs::is_directory(directory)) throw DataError("no directory " + directory.string());
    search(directory.lexically_normal(), runs);
  }
  std::set<fs::path> seen;
  runs.erase(
      std::remove_if(runs.begin(), runs.end(), [&](const FoundRun& run) { return !seen.insert(fs::weakly_canonical(run.path)).second; }),
      runs.end());
  return runs;
}

}  // namespace ffn
