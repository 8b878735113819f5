// The runs of one plan: claimed, trained by workers, waited for.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "ffn/base/cores.hpp"
#include "ffn/base/files.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/seen_runs.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/needs.hpp"
#include "ffn/study/sequential_design.hpp"
#include "ffn/study/study_lock.hpp"
#include "ffn/study/train_study.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

// `expect` as it stands before the first run, dated; what was claimed of runs that were seen under another name came after the results.
Json claims_at_start(const Plan& plan, const Json& keys, bool any_finished) {
  std::optional<JsonValue> there;
  try {
    if (auto file = read_study_file(plan.directory)) there = std::move(file->claims);
  } catch (const Error&) {  // what cannot be read says nothing
  }
  if (any_finished) return there ? **there : Json::array();
  Json claims = Json::array();
  if (plan.study.config.expect->empty()) return claims;
  std::vector<SeenRun> runs;
  for (const auto& run : plan.runs) runs.push_back({keys.at(plan.study.variants[run.variant].name), run.config.seed, ""});
  const bool is_known = [&] {
    try {
      return !seen_before(plan.directory, "", runs).studies.empty();
    } catch (const DataError&) {
      return true;
    }
  }();
  for (const auto& item : *plan.study.config.expect) {
    Json claim = {{"claim", item["claim"]}, {"check", item["check"]}, {"date", utc_now()}};
    for (const auto& before : there ? **there : Json::array()) {
      if (before["claim"] == claim["claim"] && before["check"] == claim["check"]) claim["date"] = before["date"];
    }
    if (is_known) claim["after_results"] = true;
    claims.push_back(std::move(claim));
  }
  return claims;
}

}  // namespace

void keep_study_file(const Plan& plan, bool has_work, bool any_finished) {
  const auto turn = wait_for_directory(plan.directory);
  if (any_finished) record_seen(plan.directory);  // as it was declared until now
  Json json = study_json(plan.study, plan.identities());
  json["claims"] = claims_at_start(plan, json["variant_keys"], any_finished);
  std::optional<JsonValue> there;
  std::string damage;
  try {
    if (has_study_file(plan.directory)) there = read_study_json(plan.directory);
  } catch (const VersionError&) {
    throw;
  } catch (const DataError& error) {
    damage = error.what();
  }
  if (there && **there == json) return;
  if (plan.study.sequential && has_come_further(plan)) return;
  try {
    make_directories(plan.directory);
    if (!damage.empty())
      log_warning(damage + "; renamed to " + move_aside(study_file_path(plan.directory), kDamagedMark).filename().string() +
                  " and written again");
    write_study_file(plan.directory, json);
  } catch (const SystemError& error) {
    if (has_work) throw;
    log_warning(error.what());  // finished results can be looked at where nothing can be written
  }
}

void rename_results(const fs::path& directory, StudyObserver& observer) {
  if (!path_exists(directory)) return;
  const std::string foreign = foreign_in(directory);
  if (!foreign.empty() && !holds_results(directory))
    throw DataError(directory.string() + " holds " + foreign + " and no results of ffn-train: it is not renamed",
                    "move it away, or choose another name= or -o");
  const auto lock = lock_study(directory, LockFile::Hold::alone);
  observer.renamed(move_aside(directory));
}

namespace {

// Before study.json is written: its flush is that of their names, too, and no worker has to do it.
void make_variant_directories(const Plan& plan, const std::vector<std::size_t>& runs) {
  make_directories(plan.directory);
  std::set<fs::path> directories;
  for (const auto run : runs) directories.insert(plan.runs[run].directory.parent_path());
  for (const auto& directory : directories) make_directories(directory);
}

std::string run_name(const Plan& plan, std::size_t run) { return plan.runs[run].directory.lexically_relative(plan.directory).string(); }

std::string end_text(const WorkerMessage& message) {
  std::ostringstream text;
  text << (message.end == RunEnd::done       ? "is done"
           : message.end == RunEnd::diverged ? "diverged"
           : message.end == RunEnd::failed   ? "failed"
                                             : "was interrupted")
       << " at step " << message.step << ", val/loss " << message.loss;
  return text.str();
}

// Writes events of the study's runs to its log, too.
void log_message(const Plan& plan, const WorkerMessage& message) {
  using Kind = WorkerMessage::Kind;
  if (message.kind == Kind::run_started)
    log_debug("training " + run_name(plan, message.run) + " from step " + std::to_string(message.step));
  if (message.kind == Kind::run_finished) log_debug(run_name(plan, message.run) + " " + end_text(message));
  if (message.kind == Kind::run_failed) log_debug(run_name(plan, message.run) + " failed; its run.json says why");
}

void refuse_other_engine(const Plan& plan, const std::vector<Progress>& found) {
  const auto other = std::find(found.begin(), found.end(), Progress::other_engine);
  if (other == found.end()) return;
  const auto& run = plan.runs[static_cast<std::size_t>(other - found.begin())];
  const auto count = static_cast<std::size_t>(std::count(found.begin(), found.end(), Progress::other_engine));
  throw UsageError(run.directory.string() + (count > 1 ? " and " + std::to_string(count - 1) + " more were" : " was") +
                       " trained by another engine than compute.engine: " + run.config.compute.engine,
                   "name=... or -o DIR keeps both; --fresh renames the earlier results");
}

std::vector<ShorterRun> shorter_runs(const Plan& plan, const std::vector<std::size_t>& pending) {
  std::vector<ShorterRun> out;
  for (const auto i : pending) {
    const auto& run = plan.runs[i];
    if (auto shorter = find_shorter_run(RunDirectory(run.directory), run.config, run.identity, run.beside))
      out.push_back(std::move(*shorter));
  }
  return out;
}

// Not asked of weights and curves: a study that was kept as summaries is asked again for its answer, more often than for its files.
void log_lacking_files(const Plan& plan, const std::vector<Progress>& found) {
  std::size_t lacking = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto& run = plan.runs[i];
    if (found[i] != Progress::finished || (run.config.keep != "state" && run.config.keep != "best")) continue;
    const auto record = read_record(run.directory);
    lacking += record && record->summary && !lacking_files(run.config, *record->summary).empty();
  }
  if (lacking > 0)
    log_warning(std::to_string(lacking) + " runs are finished, but what keep asks for was not kept; --fresh trains them again");
}

void wait_unless_stopped(std::chrono::milliseconds time, const std::function<bool()>& is_stopped) {
  constexpr std::chrono::milliseconds kTick(100);
  for (; time.count() > 0 && !is_stopped(); time -= kTick) std::this_thread::sleep_for(kTick);
}

}  // namespace

StudyOutcome train_plan(const Plan& plan, const StudyRequest& request, StudyObserver& observer) {
  const auto is_stopped = [&] { return request.stop && request.stop(); };
  const auto runs = runs_of(plan, request.shard);
  const auto found = progress_of(plan.runs);
  refuse_other_engine(plan, found);
  std::vector<std::size_t> pending;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(pending), [&](std::size_t i) { return found[i] != Progress::finished; });
  const std::size_t jobs = job_count(request.jobs, plan.study);
  StudyOutcome outcome;
  outcome.total = runs.size();
  outcome.reused = runs.size() - pending.size();
  std::optional<LockFile> lock;
  std::optional<LogFile> log;
  if (!pending.empty()) {  // what cannot be had is found before anything is written
    for (const auto& variant : plan.study.variants) request.prepare(variant.config);
    lock = lock_study(plan.directory, LockFile::Hold::shared);
    remove_temporaries(plan.directory, "", std::chrono::hours(1));  // other shards may write, and reports
    make_variant_directories(plan, pending);
  }
  observer.training(plan, runs, found);
  log_shorter_runs(shorter_runs(plan, pending));
  log_lacking_files(plan, found);
  keep_study_file(plan, !pending.empty(), std::find(found.begin(), found.end(), Progress::finished) != found.end());
  if (!pending.empty() && !is_stopped()) {
    log.emplace(plan.directory / "log.txt");
    log_debug("study " + plan.study.name + ": " + std::to_string(pending.size()) + " of " + std::to_string(runs.size()) +
              " runs to train, " + std::to_string(jobs) + " workers");
  }
  bool said_waiting = false, is_seen = false;
  std::chrono::milliseconds wait(100);
  while (!pending.empty() && !is_stopped()) {
    Engine& engine = request.engine();
    const auto cohorts = make_cohorts(plan, pending, jobs);
    for (const auto& cohort : cohorts) engine.prepare(plan.runs[cohort[0]].config);
    PoolOptions pool;
    pool.jobs = jobs;
    pool.cores = usable_cores();
    pool.fail_fast = request.fail_fast;
    pool.argv = request.argv;
    pool.stop = request.stop;
    pool.in_worker = request.in_worker;
    pool.on_message = [&](const WorkerMessage& message) {
      log_message(plan, message);
      const bool is_result = message.kind == WorkerMessage::Kind::run_finished && message.end != RunEnd::interrupted;
      if (is_result && !is_seen) record_seen(plan.directory);
      is_seen = is_seen || is_result;
      observer.message(message, cohorts);
    };
    const PoolResult result = run_pool(plan, cohorts, engine, pool);
    if (!result.unreadable.empty()) throw ReadError(result.unreadable);
    outcome.trained += result.trained;
    outcome.diverged += result.diverged;
    outcome.failed.insert(result.failed.begin(), result.failed.end());
    outcome.interrupted = result.interrupted;
    if (result.interrupted || (request.fail_fast && !outcome.failed.empty())) break;
    // Another process trains the rest; it may finish, or die and leave it to us.
    std::vector<std::size_t> left;
    for (const auto i : pending) {
      if (result.ended.count(i) || outcome.failed.count(i)) continue;
      const auto progress = progress_of(plan.runs[i]);
      if (progress == Progress::pending) left.push_back(i);
      else if (progress == Progress::finished) ++outcome.reused;
      else outcome.failed.insert(i);
    }
    const bool is_idle = result.trained == 0 && result.failed.empty() && left.size() == pending.size();
    pending = std::move(left);
    if (!is_idle || pending.empty()) continue;
    if (!said_waiting) log_info("waiting for " + std::to_string(pending.size()) + " runs that another process is training");
    said_waiting = true;
    wait = std::min(wait * 2, std::chrono::milliseconds(3000));
    wait_unless_stopped(wait, is_stopped);
  }
  observer.trained();
  outcome.interrupted = outcome.interrupted || is_stopped();
  if (log)
    log_debug("study " + plan.study.name + (outcome.interrupted ? " was interrupted: " : " ends: ") + std::to_string(outcome.trained) +
              " trained, " + std::to_string(outcome.reused) + " found finished, " + std::to_string(outcome.diverged) + " diverged, " +
              std::to_string(outcome.failed.size()) + " failed");
  return outcome;
}

}  // namespace ffn
