#include "ffn/study/run_study.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "ffn/base/files.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/growing.hpp"
#include "ffn/study/ledger.hpp"

namespace ffn {

namespace {

bool holds(const std::filesystem::path& file, const std::string& text) {
  try {
    return path_exists(file) && read_file(file, "study file", ExitCode::data, 2 * text.size() + 4096) == text;
  } catch (const Error&) {  // too long, or not readable
    return false;
  }
}

// What a start makes good is said.
void warn_of_lost_file(const std::filesystem::path& study) {
  try {
    const auto there = read_study_file(study);
    if (there && !there->lost.empty())
      log_warning(there->lost + "; written again from its copy, " + study_copy_path(study).filename().string());
  } catch (const Error&) {  // lost with its copy: whoever depends on it has said so
  }
}

}  // namespace

void keep_study_file(const Plan& plan, bool has_work, bool any_finished) {
  const StudyFileTurn turn(plan.directory);
  Json json = study_json(plan.study, plan.texts);
  history_at_start(plan, any_finished).write_to(json);
  const std::string text = study_text(json);
  const bool is_whole = holds(study_file_path(plan.directory), text);
  if (is_whole && holds(study_copy_path(plan.directory), text)) return;
  if (plan.study.sequential && has_come_further(plan)) return;
  if (!is_whole) warn_of_lost_file(plan.directory);
  try {
    make_directories(plan.directory);
    for (const auto& file : {study_file_path(plan.directory), study_copy_path(plan.directory)}) make_room_for_file(file);
    write_study_file(plan.directory, text);
  } catch (const SystemError& error) {
    if (has_work) throw;
    if (!is_whole) log_warning(error.what());  // finished results can be looked at where nothing can be written
  }
}

namespace {

// Before study.json is written: its flush is that of their names, too, and no worker has to do it.
void make_variant_directories(const Plan& plan, const std::vector<std::size_t>& runs) {
  std::set<std::filesystem::path> directories;
  for (const auto run : runs) directories.insert(plan.runs[run].directory.parent_path());
  for (const auto& directory : directories) make_directories(directory);
}

std::string run_name(const Plan& plan, std::size_t run) {
  return plan.study.variants[plan.runs[run].variant].name + "/seed-" + std::to_string(plan.runs[run].config.seed);
}

std::string end_text(const WorkerMessage& message) {
  std::ostringstream text;
  text << (message.end == RunEnd::done       ? "is done"
           : message.end == RunEnd::diverged ? "diverged"
                                             : "was interrupted")
       << " at step " << message.step << ", val/loss " << message.loss;
  return text.str();
}

// What happens to the study's runs is written to its log, too.
PoolOptions pool_options(const Plan& plan, const StudyOptions& options, const std::vector<PlannedCohort>& cohorts) {
  PoolOptions pool;
  pool.jobs = options.jobs;
  pool.cores = options.cores;
  pool.fail_fast = options.fail_fast;
  pool.argv = options.argv;
  pool.stop = options.stop;
  pool.in_worker = options.in_worker;
  pool.on_message = [&](const WorkerMessage& message) {
    using Kind = WorkerMessage::Kind;
    if (message.kind == Kind::run_started)
      log_debug("training " + run_name(plan, message.run) + " from step " + std::to_string(message.step));
    if (message.kind == Kind::run_finished) log_debug(run_name(plan, message.run) + " " + end_text(message));
    if (message.kind == Kind::run_failed) log_debug(run_name(plan, message.run) + " failed; its status.json says why");
    if (options.on_message) options.on_message(message, cohorts);
  };
  return pool;
}

void wait_unless_stopped(std::chrono::milliseconds time, const std::function<bool()>& is_stopped) {
  constexpr std::chrono::milliseconds kLook(100);
  for (; time.count() > 0 && !is_stopped(); time -= kLook) std::this_thread::sleep_for(kLook);
}

bool is_lost(Progress progress) { return progress == Progress::failed || progress == Progress::another; }

}  // namespace

StudyOutcome run_study(const Plan& plan, const StudyOptions& options) {
  const auto is_stopped = [&] { return options.stop && options.stop(); };
  StudyOutcome outcome;
  std::set<std::size_t> finished;  // and found so on disk: not looked at again
  std::set<std::size_t> ended;     // a run that ended here is not begun again here, whatever happens to its directory
  outcome.total = options.runs.size();
  std::optional<LogFile> log;
  bool said_waiting = false;
  std::chrono::milliseconds wait(100);
  for (bool first = true;; first = false) {
    std::vector<std::size_t> pending;
    for (const auto i : options.runs) {
      if (finished.count(i) || ended.count(i) || outcome.failed.count(i)) continue;
      const auto progress = first ? options.found.at(i) : progress_of(plan.runs[i]);
      if (progress == Progress::finished) finished.insert(i);
      else if (progress == Progress::pending || first) pending.push_back(i);
    }
    if (first) {
      make_variant_directories(plan, pending);
      const bool any_finished = std::any_of(options.found.begin(), options.found.end(), [](Progress p) { return p == Progress::finished; });
      keep_study_file(plan, !pending.empty(), any_finished);
    }
    if (pending.empty() || is_stopped()) break;

    if (!log) {
      log.emplace(plan.directory / "log.txt");
      log_debug("study " + plan.study.name + ": " + std::to_string(pending.size()) + " of " + std::to_string(options.runs.size()) +
                " runs to train, " + std::to_string(options.jobs) + " workers");
    }
    Engine& engine = options.engine();
    const auto cohorts = make_cohorts(plan, pending, options.jobs);
    for (const auto& cohort : cohorts) engine.prepare(plan.runs[cohort[0]].config);
    const PoolResult result = run_pool(plan, cohorts, engine, pool_options(plan, options, cohorts));
    if (!result.unreadable.empty()) throw ReadError(result.unreadable);
    outcome.trained += result.trained;
    outcome.diverged += result.diverged;
    outcome.failed.insert(result.failed.begin(), result.failed.end());
    ended.insert(result.ended.begin(), result.ended.end());
    const bool all_ended = std::all_of(pending.begin(), pending.end(), [&](std::size_t run) { return ended.count(run) > 0; });
    outcome.interrupted = result.interrupted;
    outcome.directory_lost = result.directory_lost;
    if (result.interrupted || result.directory_lost || all_ended || (options.fail_fast && !outcome.failed.empty())) break;
    // What is left is being trained by another process; it may finish, or die and leave it to us.
    if (result.trained > 0 || result.mended > 0 || !result.failed.empty()) continue;
    if (!said_waiting) log_info("waiting for " + std::to_string(pending.size()) + " runs that another process is training");
    said_waiting = true;
    wait = std::min(wait * 2, std::chrono::milliseconds(3000));
    wait_unless_stopped(wait, is_stopped);
  }
  for (const auto i : options.runs) {
    if (finished.count(i)) ++outcome.reused;
    if (!finished.count(i) && !ended.count(i) && is_lost(progress_of(plan.runs[i]))) outcome.failed.insert(i);
  }
  outcome.interrupted = outcome.interrupted || is_stopped();
  if (log) {
    log_debug("study " + plan.study.name + (outcome.interrupted ? " was interrupted: " : " ends: ") + std::to_string(outcome.trained) +
              " trained, " + std::to_string(outcome.reused) + " found finished, " + std::to_string(outcome.diverged) + " diverged, " +
              std::to_string(outcome.failed.size()) + " failed");
  }
  return outcome;
}

}  // namespace ffn
