#include "ffn/store/shorter_run.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/data/run_identity.hpp"
#include "ffn/store/json_text.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_check.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

std::int64_t steps_of(const RunRecord& record) {
  return store::count_from(record.config->value(Json::json_pointer("/train/steps"), Json(0)));
}

// Nothing for every other run, and for a damaged one, which is said where it kept a state.
std::optional<RunRecord> record_of_shorter(const fs::path& place, const RunConfig& config, const std::string& identity) {
  try {
    auto record = read_record(place);
    if (!record) return std::nullopt;
    RunConfig shorter = config;
    shorter.train.steps = steps_of(*record);
    if (shorter.train.steps >= config.train.steps || run_identity(shorter, record->text) != record->identity) return std::nullopt;
    return run_identity(config, record->text) == identity ? std::move(record) : std::nullopt;  // false: another text
  } catch (const DataError& error) {
    if (path_exists(RunDirectory(place).checkpoint_path())) log_warning(std::string(error.what()) + "; its steps are not gone on from");
    return std::nullopt;
  }
}

// Why the steps before `end` are not those of the longer run; empty if they are.
std::string other_rates(const ScheduleConfig& schedule, std::int64_t shorter, std::int64_t longer, std::int64_t end) {
  for (std::int64_t step = 0; step < end; ++step) {
    if (schedule_factor(schedule, step, shorter) != schedule_factor(schedule, step, longer))
      return "its learning rate is another from step " + std::to_string(step) +
             " on, because train.schedule depends on train.steps (the constant schedule does not)";
  }
  return "";
}

std::string obstacle_of(const RunRecord& record, const RunConfig& config) {
  const std::int64_t steps = steps_of(record);
  const auto& summary = record.summary;
  if (summary && summary->steps < steps) return "it ended at its hit, where this one ends, too (train.target.stop)";
  const std::string rates = other_rates(config.train.schedule, steps, config.train.steps, summary ? summary->steps : record.step);
  if (!rates.empty()) return rates;
  if (config.keep == "best" && record.config->value("keep", "") != "best")
    return "it was trained without keep=best, so its best weights are not known";
  if (!summary || summary->files.count("checkpoint.safetensors") > 0) return "";
  return "its state was not kept; train with keep=state what is to be trained further";
}

bool is_better(const ShorterRun& a, const ShorterRun& b) {
  return a.obstacle.empty() != b.obstacle.empty() ? a.obstacle.empty() : a.step > b.step;
}

}  // namespace

std::vector<RunsBeside> runs_beside(const std::vector<fs::path>& runs) {
  std::map<fs::path, std::map<fs::path, RunsBeside>> known;  // by the directory around them, by "seed-7"
  std::vector<RunsBeside> out;
  for (const auto& run : runs) {
    const auto [around, is_new] = known.try_emplace(run.parent_path());
    for (const auto& entry : is_new ? entries_of(around->first) : std::vector<DirectoryEntry>()) {
      if (is_run_directory_name(entry.path.filename().string())) around->second[entry.path.stem()].push_back(entry.path);
    }
    out.push_back(around->second[run.stem()]);
    out.back().erase(std::remove(out.back().begin(), out.back().end(), run), out.back().end());
  }
  return out;
}

std::optional<ShorterRun> find_shorter_run(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                           const RunsBeside& beside) {
  if (config.command || path_exists(directory.checkpoint_path())) return std::nullopt;
  std::optional<ShorterRun> best;
  for (const auto& place : beside) {
    auto record = record_of_shorter(place, config, identity);
    if (!record || record->step == 0 || record->state == RunState::diverged) continue;
    if (config.keep == "summary" && record->summary && record->summary->files.empty()) continue;  // nobody asked for a state
    const std::int64_t step = record->step;
    ShorterRun found{place, std::move(*record), step, ""};
    found.obstacle = obstacle_of(found.record, config);
    if (!best || is_better(found, *best)) best = std::move(found);
  }
  return best;
}

void log_shorter_runs(const std::vector<ShorterRun>& runs) {
  std::map<std::string, std::vector<const ShorterRun*>> by_obstacle;
  for (const auto& run : runs) by_obstacle[run.obstacle].push_back(&run);
  for (const auto& [obstacle, alike] : by_obstacle) {
    const std::string place = alike[0]->directory.string(), more = std::to_string(alike.size() - 1);
    if (obstacle.empty()) {
      log_info(
          "going on from step " + std::to_string(alike[0]->step) + " of " + place +
          (alike.size() > 1
               ? "; " + more + (alike.size() == 2 ? " more run goes on from a shorter one, too" : " more runs go on from shorter ones, too")
               : ""));
    } else {
      log_warning("cannot go on from " + place + (alike.size() > 1 ? " and " + more + " more" : "") + ": " + obstacle +
                  "; training from the start");
    }
  }
}

std::optional<StoredCheckpoint> state_of_shorter_run(const RunDirectory& directory, const RunConfig& config, const std::string& identity,
                                                     const RunsBeside& beside, RunCheck& check) {
  auto shorter = find_shorter_run(directory, config, identity, beside);
  if (!shorter || !shorter->obstacle.empty()) return std::nullopt;
  try {
    auto stored = RunDirectory(shorter->directory).read_checkpoint(config.train.steps, shorter->record.identity);
    // It may be newer than the record, of a run that was killed or is being trained.
    if (!stored || !other_rates(config.train.schedule, steps_of(shorter->record), config.train.steps, stored->checkpoint.step).empty())
      return std::nullopt;
    directory.remove_results();
    check.record = std::move(shorter->record);
    return stored;
  } catch (const CheckpointError& error) {
    log_warning(std::string(error.what()) + "; training from the start");
    return std::nullopt;
  }
}

}  // namespace ffn
