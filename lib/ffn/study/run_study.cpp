#include "ffn/study/run_study.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "ffn/core/files.hpp"
#include "ffn/record/log.hpp"

namespace ffn {

namespace {

// What the study is, for `compare` and for people: its document and how keys vary.
void write_study_file(const Plan& plan) {
  Json variants = Json::array();
  for (const auto& variant : plan.study.variants) {
    Json assignments = Json::object();
    for (const auto& [key, value] : variant.assignments) assignments[key] = value;
    variants.push_back({{"name", variant.name}, {"assignments", assignments}});
  }
  const Json out = {{"schema_version", 1}, {"name", plan.study.name}, {"seeds", plan.study.seeds}, {"variants", variants}, {"document", plan.study.document}};
  make_directories(plan.directory);
  write_file_atomically(plan.directory / "study.json", out.dump(2) + "\n");
}

std::string run_name(const Plan& plan, std::size_t run) {
  return plan.study.variants[plan.runs[run].variant].name + "/seed-" + std::to_string(plan.runs[run].config.seed);
}

}  // namespace

StudyOutcome run_study(const Plan& plan, const StudyOptions& options) {
  write_study_file(plan);
  StudyOutcome outcome;
  outcome.total = plan.runs.size();
  std::optional<LogFile> log;
  for (bool first = true;; first = false) {
    std::vector<std::size_t> pending;
    for (std::size_t i = 0; i < plan.runs.size(); ++i) {
      const auto progress = progress_of(plan.runs[i]);
      const bool lacking = progress == Progress::pending || (progress == Progress::failed && first);
      if (lacking && !outcome.failed.count(i)) pending.push_back(i);
    }
    if (first) outcome.reused = outcome.total - pending.size();
    if (pending.empty() || (options.stop && options.stop())) break;

    if (!log) log.emplace(plan.directory / "log.txt");
    Engine& engine = options.engine();
    const auto cohorts = make_cohorts(plan, pending, options.jobs);
    PoolOptions pool;
    pool.jobs = options.jobs, pool.fail_fast = options.fail_fast, pool.argv = options.argv, pool.stop = options.stop, pool.in_worker = options.in_worker;
    pool.on_message = [&](const WorkerMessage& message) {
      if (message.kind == WorkerMessage::Kind::run_started) {
        log_debug("training " + run_name(plan, message.run) + " from step " + std::to_string(message.step));
      }
      if (options.on_message) options.on_message(message, cohorts);
    };
    const PoolResult result = run_pool(plan, cohorts, engine, pool);
    outcome.trained += result.trained;
    outcome.diverged += result.diverged;
    outcome.failed.insert(result.failed.begin(), result.failed.end());
    outcome.interrupted = result.interrupted;
    if (result.interrupted || (options.fail_fast && !outcome.failed.empty())) break;
    // What is left is being trained by another process; it may finish, or die and leave it to us.
    if (result.trained == 0 && result.failed.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  outcome.interrupted = outcome.interrupted || (options.stop && options.stop());
  return outcome;
}

}  // namespace ffn
