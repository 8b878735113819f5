#include "ffn/study/train_cohort.hpp"

#include <malloc.h>

#include <cmath>
#include <map>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/run_recorder.hpp"
#include "ffn/study/command_run.hpp"

namespace ffn {
namespace {

// The identity of a text run holds the text's hash; one that was edited since the study was planned is another run. The runs of a cohort
// have one text: any of them tells for all. Asked before anything is written; what is read for training is judged by the recorder.
bool is_still_itself(const PlannedRun& run) { return run_identity(run.config) == run.identity; }

}  // namespace

Progress progress_of(const PlannedRun& run) {
  const auto check = check_run(RunDirectory(run.directory), run.identity);
  if (check.is_whole())
    return computed_as_asked(run.config.compute, check.record->summary->computed_by) ? Progress::finished : Progress::other_engine;
  return check.verdict == RunCheck::Verdict::failed ? Progress::failed : Progress::pending;
}

std::vector<Progress> progress_of(const std::vector<PlannedRun>& runs) {
  std::vector<Progress> out(runs.size());
  // Waiting for files, mostly: more threads than cores are no loss.
  constexpr std::size_t kThreads = 8, kRunsPerThread = 32;
  side_by_side(std::min(kThreads, 1 + runs.size() / kRunsPerThread), runs.size(), [&](std::size_t i) { out[i] = progress_of(runs[i]); });
  return out;
}

namespace {

// The runs of a cohort that go on from the same step, all before or all after its evaluation, train together.
struct Session {
  std::vector<std::size_t> plan_index;
  std::vector<RecordedRun> runs;
  std::vector<std::optional<Checkpoint>> checkpoints;
};

class HookObserver final : public TrainObserver {
 public:
  HookObserver(const Session& session, const CohortHooks& hooks, CohortOutcome& outcome)
      : session_(session), hooks_(hooks), outcome_(outcome), val_loss_(session.runs.size(), NAN) {
    if (const auto& command = session.runs[0].config.command) shown_ = command->main_metric();
  }
  void evaluated(std::size_t run, const Evaluation& evaluation) override {
    for (const auto& [name, value] : evaluation.metrics) {
      if (name == shown_) val_loss_[run] = value;
    }
  }
  void stepped(std::int64_t step, double loss) override {
    if (hooks_.stepped) hooks_.stepped(step, loss);
  }
  void finished(std::size_t run, const RunResult& result) override {
    if (result.end == RunEnd::interrupted) outcome_.interrupted = true;
    else ++outcome_.trained;
    if (hooks_.finished) hooks_.finished(session_.plan_index[run], result, val_loss_[run]);
  }

 private:
  const Session& session_;
  const CohortHooks& hooks_;
  CohortOutcome& outcome_;
  std::string shown_ = metric::kValLoss.name;
  std::vector<double> val_loss_;  // the last of each run
};

void record_failure(std::size_t run, const CohortHooks& hooks, CohortOutcome& outcome) {
  ++outcome.failed;
  if (hooks.failed) hooks.failed(run);
}

void say_other_engines(const Cohort& cohort, const EngineInfo& info) {
  std::set<std::string> lines;
  for (const auto& checkpoint : cohort.resume) {
    if (checkpoint) lines.insert(other_engine_line(*checkpoint, info));
  }
  lines.erase("");
  for (const auto& line : lines) log_warning(line);
}

struct ReadyRun {
  RecordedRun run;
  std::optional<Checkpoint> checkpoint;
};

// The run with its directory made ready; nothing where there is nothing to train any more, or it cannot be.
std::optional<ReadyRun> ready_run(const PlannedRun& run, std::size_t index, const CohortHooks& hooks, CohortOutcome& outcome) {
  const RunDirectory directory(run.directory);
  auto check = check_run(directory, run.identity);
  if (check.is_whole()) return std::nullopt;  // by another process, since the cohort was formed
  try {
    ReadyRun out{{directory, run.config, run.identity, std::nullopt, {}}, std::nullopt};
    auto stored = make_ready(directory, run.config, run.identity, run.beside, check);
    if (check.record) out.run.sessions = std::move(check.record->sessions);
    if (stored) {
      out.run.resumed_at = stored->checkpoint.step;
      out.run.metrics = std::move(stored->metrics);
      out.checkpoint = std::move(stored->checkpoint);
    }
    return out;
  } catch (const Error& error) {
    log_error(reason_of(error) + (error.hint().empty() ? "" : "; " + error.hint()));
    record_failure(index, hooks, outcome);
    return std::nullopt;
  }
}

void train_session(Session& session, Engine& engine, const std::vector<std::string>& argv, const CohortHooks& hooks,
                   CohortOutcome& outcome) {
  Cohort cohort;
  for (const auto& run : session.runs) cohort.runs.push_back(run.config);
  cohort.resume = std::move(session.checkpoints);
  std::optional<RunRecorder> recorder;
  HookObserver observer(session, hooks, outcome);
  try {
    const auto info = engine.info(cohort.runs[0]);
    say_other_engines(cohort, info);
    recorder.emplace(session.runs, argv, info);
    recorder->forward_to(&observer);
    recorder->stop_when(hooks.stop);
    if (hooks.started) {
      for (std::size_t i = 0; i < session.runs.size(); ++i) hooks.started(session.plan_index[i], session.runs[i].resumed_at.value_or(0));
    }
    if (cohort.runs[0].command) run_command(session.runs[0], *recorder);
    else engine.train(cohort, *recorder);
  } catch (const ReadError&) {  // what was trained goes on from its checkpoint once the file can be read
    throw;
  } catch (const std::exception& error) {
    // One session's error is not its neighbours': the cohort goes on, and run.json says what happened.
    log_error(reason_of(error));
    try {
      if (recorder) recorder->fail_unfinished(reason_of(error));
    } catch (const std::exception& again) {
      log_error(reason_of(again));
    }
    for (std::size_t i = 0; i < session.runs.size(); ++i) {
      if (!recorder || !recorder->summary(i)) record_failure(session.plan_index[i], hooks, outcome);
    }
  }
}

}  // namespace

std::string other_engine_line(const Checkpoint& checkpoint, const EngineInfo& info) {
  if (checkpoint.computed_by.empty() || checkpoint.computed_by.back() == info.text()) return "";
  return "going on with " + info.text() + " what " + checkpoint.computed_by.back() +
         " began: bits may differ from those of an undisturbed run";
}

void give_back_freed_memory() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

CohortOutcome train_cohort(const Plan& plan, const PlannedCohort& cohort, Engine& engine, const std::vector<std::string>& argv,
                           const CohortHooks& hooks) {
  if (const auto& first = plan.runs[cohort.at(0)]; !is_still_itself(first))
    throw DataError((first.config.command ? "the program of " : "the data of ") + first.directory.string() +
                    " changed since the study was started; put the file back, or start again to train on it as it is");
  give_back_freed_memory();
  CohortOutcome outcome;
  std::vector<LockFile> claims;                               // held until the cohort is through
  std::map<std::pair<std::int64_t, bool>, Session> sessions;  // by the step they go on from, and whether it was evaluated
  for (const auto index : cohort) {
    const PlannedRun& run = plan.runs[index];
    auto claim = claim_run(run.directory);
    if (!claim) {
      ++outcome.elsewhere;
      continue;
    }
    auto ready = ready_run(run, index, hooks, outcome);
    if (!ready) continue;
    claims.push_back(std::move(*claim));
    auto& session = sessions[{ready->run.resumed_at.value_or(0), !ready->checkpoint || ready->checkpoint->is_evaluated()}];
    session.plan_index.push_back(index);
    session.checkpoints.push_back(std::move(ready->checkpoint));
    session.runs.push_back(std::move(ready->run));
  }
  for (auto& [step, session] : sessions) {
    if (hooks.stop && hooks.stop()) {
      outcome.interrupted = true;
      break;
    }
    train_session(session, engine, argv, hooks, outcome);
  }
  return outcome;
}

}  // namespace ffn
