// A study from the command line: progress while it runs, the comparison at its end.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include <csignal>

#include "compare_text.hpp"
#include "ffn/core/files.hpp"
#include "ffn/record/log.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/study/compare_json.hpp"
#include "ffn/study/expect.hpp"
#include "ffn/study/run_study.hpp"
#include "signals.hpp"
#include "train.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

std::size_t job_count(const CommonOptions& common) {
  return common.jobs > 0 ? static_cast<std::size_t>(common.jobs) : std::max(1u, std::thread::hardware_concurrency());
}

const FfnSize* matched_size(const Variant& variant) {
  return std::visit(
      [](const auto& ffn) -> const FfnSize* {
        if constexpr (std::is_base_of_v<FfnSize, std::decay_t<decltype(ffn)>>) return ffn.matched_width ? &ffn : nullptr;
        return nullptr;
      },
      variant.config.model.ffn);
}

namespace {

// The comparison that the study asks for, over its own runs; nothing if none has begun.
std::optional<Comparison> compare_plan(const Plan& plan, std::size_t resamples) {
  auto runs = find_runs({plan.directory});
  // Only what the study describes now; an earlier, wider version may have left more.
  std::set<fs::path> planned;
  for (const auto& run : plan.runs) planned.insert(run.directory);
  runs.erase(std::remove_if(runs.begin(), runs.end(), [&](const FoundRun& run) { return !planned.count(run.path); }), runs.end());
  if (runs.empty()) return std::nullopt;
  // The study's own order of values, not that of the directories.
  std::map<fs::path, std::size_t> rank;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) rank[plan.runs[i].directory] = i;
  std::sort(runs.begin(), runs.end(), [&](const FoundRun& a, const FoundRun& b) { return rank[a.path] < rank[b.path]; });
  CompareRequest request;
  request.config = plan.study.config.compare;
  if (request.config.by.empty() && !plan.study.variants[0].assignments.empty()) request.config.by = plan.study.variants[0].assignments[0].key;
  request.resamples = resamples;
  return compare_runs(runs, request);
}

// One bar over all run-steps of the study, one line per finished cohort.
class StudyDisplay {
 public:
  StudyDisplay(const Plan& plan, const CommonOptions& common) : plan_(plan), quiet_(common.verbosity < 0) {
    ProgressOptions options;
    options.label = plan.study.name;
    for (const auto& run : plan.runs) {
      options.total += run.config.train.steps;
      if (progress_of(run) == Progress::finished) done_steps_ += run.config.train.steps;
    }
    animate_ = options.animate = !quiet_ && animation_enabled(2);
    if (quiet_) options.line_every_s = 1e300;
    bar_ = std::make_unique<ProgressBar>(options);
    LogOptions log{common.verbosity, color_enabled(color_mode(common), 2), nullptr, [this] { take_off_screen(); }};
    set_up_log(log);
    for (const auto& variant : plan.study.variants) {
      if (const auto* size = matched_size(variant)) {
        log_info(variant.name + ": d_ff " + format_count(*size->matched_width) + " matches the plain FFN's " + size->match + " but for " + format_percent(size->mismatch, 2));
      }
    }
  }
  ~StudyDisplay() {
    take_off_screen();
    bar_->finish();
  }

  void receive(const WorkerMessage& m, const std::vector<PlannedCohort>& cohorts) {
    using Kind = WorkerMessage::Kind;
    const auto& cohort = cohorts[m.cohort];
    const auto runs = static_cast<std::int64_t>(cohort.size());
    if (m.kind == Kind::run_finished) {
      loss_ = m.loss;
    } else if (m.kind == Kind::stepped) {
      running_[m.cohort] = m.step * runs;
      loss_ = m.loss;
    } else if (m.kind == Kind::cohort_finished || m.kind == Kind::cohort_failed) {
      running_.erase(m.cohort);
      for (const auto index : cohort) done_steps_ += plan_.runs[index].config.train.steps;
      ++finished_cohorts_;
      if (m.kind == Kind::cohort_finished && m.outcome.trained > 0) log_info(cohort_line(cohort, m, cohorts.size()));
    }
    std::int64_t steps = done_steps_;
    for (const auto& [index, partial] : running_) steps += partial;
    if (animate_) show_standing();
    bar_->update(steps, loss_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void take_off_screen() {
    bar_->clear();
    if (standing_lines_ > 0) std::cerr << "\x1b[" << standing_lines_ << "A\x1b[J" << std::flush;
    standing_lines_ = 0;
  }

  // The comparison so far, above the bar; read from disk again when a cohort has come in, at most every two seconds.
  void show_standing() {
    const bool due = finished_cohorts_ > shown_cohorts_ && Clock::now() - standing_time_ > std::chrono::seconds(2);
    if (due) {
      standing_ = standing_table();
      shown_cohorts_ = finished_cohorts_;
      standing_time_ = Clock::now();
    }
    if (standing_.empty() || (!due && standing_lines_ > 0)) return;
    take_off_screen();
    std::cerr << standing_ << std::flush;
    standing_lines_ = static_cast<int>(std::count(standing_.begin(), standing_.end(), '\n'));
  }

  std::string standing_table() const {
    try {
      const auto comparison = compare_plan(plan_, /*resamples=*/200);
      return comparison ? standing_text(*comparison, terminal_width_of(2)) : "";
    } catch (const Error&) {
      return "";  // nothing to compare yet
    }
  }

  std::string cohort_line(const PlannedCohort& cohort, const WorkerMessage& m, std::size_t total) const {
    std::set<std::string> variants;
    std::int64_t low = INT64_MAX, high = 0;
    for (const auto index : cohort) {
      variants.insert(plan_.study.variants[plan_.runs[index].variant].name);
      low = std::min(low, plan_.runs[index].config.seed), high = std::max(high, plan_.runs[index].config.seed);
    }
    const std::string name = variants.size() == 1 ? *variants.begin() : std::to_string(variants.size()) + " variants";
    return "[" + std::to_string(finished_cohorts_) + "/" + std::to_string(total) + "] " + name + ", seeds " + std::to_string(low) + " to " +
           std::to_string(high) + ": " + std::to_string(m.outcome.trained) + " runs";
  }

  const Plan& plan_;
  bool quiet_, animate_ = false;
  std::string standing_;
  int standing_lines_ = 0;
  std::size_t shown_cohorts_ = 0;
  Clock::time_point standing_time_;
  std::unique_ptr<ProgressBar> bar_;
  std::map<std::size_t, std::int64_t> running_;  // run-steps of cohorts in progress
  std::int64_t done_steps_ = 0;
  std::size_t finished_cohorts_ = 0;
  double loss_ = 0;
};

void in_worker() {
  // The terminal sends Ctrl-C to everyone; the parent decides and tells its workers with SIGTERM, repeats included.
  std::signal(SIGINT, SIG_IGN);
}

// Prints whether the study's claims hold; false if one does not.
bool report_expectations(const std::vector<Expectation>& expectations, bool color) {
  bool all = true;
  for (const auto& e : expectations) {
    const bool met = e.state == Expectation::State::met, unmet = e.state == Expectation::State::unmet;
    const std::string mark = met ? "holds" : unmet ? "DOES NOT HOLD" : "cannot be said yet";
    std::cout << "claim: " << e.claim << ": " << styled(mark, met ? Style::green : unmet ? Style::red : Style::yellow, color) << " (" << e.found << ")\n";
    all = all && !unmet;
  }
  return all;
}

// The comparison of what is finished, printed and saved; false if a claim of the study does not hold.
bool compare_and_save(const Plan& plan, const std::string& source, const CommonOptions& common) {
  const auto comparison = compare_plan(plan, CompareRequest().resamples);
  if (!comparison) return true;
  const auto expectations = check_expectations(plan.study.config.expect, *comparison, source);
  Json json = comparison_json(*comparison);
  for (const auto& e : expectations) {
    const char* state = e.state == Expectation::State::met ? "met" : e.state == Expectation::State::unmet ? "unmet" : "unknown";
    json["expect"].push_back({{"claim", e.claim}, {"source", e.source}, {"state", state}, {"found", e.found}});
  }
  write_file_atomically(plan.directory / "compare.json", json.dump(2) + "\n");
  const bool color = color_enabled(color_mode(common), 1);
  if (common.json) std::cout << json.dump(2) << "\n";
  else std::cout << comparison_text(*comparison, TableForm::terminal, color);
  if (!common.json && !expectations.empty()) return std::cout << "\n", report_expectations(expectations, color);
  return std::none_of(expectations.begin(), expectations.end(), [](const Expectation& e) { return e.state == Expectation::State::unmet; });
}

}  // namespace

int train_study(const Study& study, const std::string& source, const TrainOptions& options, const CommonOptions& common) {
  for (const auto& variant : study.variants) task_shape(variant.config.task);  // a missing text is an error before anything is written
  check_expectations(study.config.expect, Comparison{}, source);                // so is a claim that cannot be understood
  const Plan plan = make_plan(study, common.out);
  if (options.fresh && fs::exists(plan.directory)) log_info("earlier results moved to " + move_aside(plan.directory).string());

  StudyOutcome outcome;
  {
    StudyDisplay display(plan, common);
    StudyOptions run;
    run.jobs = job_count(common);
    run.fail_fast = options.fail_fast;
    run.argv = common.argv;
    run.stop = stop_requested;
    run.in_worker = in_worker;
    run.engine = []() -> Engine& {
      Engine& engine = load_engine();
      engine.set_log(write_log);
      return engine;
    };
    run.on_message = [&](const WorkerMessage& m, const std::vector<PlannedCohort>& cohorts) { display.receive(m, cohorts); };
    outcome = run_study(plan, run);
  }
  set_up_log({common.verbosity, color_enabled(color_mode(common), 2), nullptr, {}});
  if (!study.config.question.empty() && !common.json) std::cout << study.config.question << "\n\n";
  const bool claims_hold = compare_and_save(plan, source, common);
  log_info(std::to_string(outcome.total) + " runs: " + std::to_string(outcome.trained) + " trained now, " + std::to_string(outcome.reused) + " found finished" +
           (outcome.diverged > 0 ? ", " + std::to_string(outcome.diverged) + " diverged" : "") +
           (outcome.failed.empty() ? "" : ", " + std::to_string(outcome.failed.size()) + " failed (see their status.json)"));
  if (outcome.interrupted) {
    log_info("interrupted; the same command goes on: ffn-train --config " + source);
    return static_cast<int>(ExitCode::interrupted);
  }
  log_info("results: " + plan.directory.string() + "    next: ffn-train compare " + plan.directory.string() + " --metric val/loss");
  return static_cast<int>(!outcome.failed.empty() ? ExitCode::partial : claims_hold ? ExitCode::done : ExitCode::condition);
}

}  // namespace ffn::app
