#include "ffn/study/train_cohort.hpp"

#include <map>

#include "ffn/core/error.hpp"
#include "ffn/record/log.hpp"
#include "ffn/record/run_recorder.hpp"
#include "ffn/record/run_claim.hpp"

namespace ffn {
namespace fs = std::filesystem;

fs::path move_aside(const fs::path& path) {
  int n = 1;
  while (fs::exists(path.string() + ".old-" + std::to_string(n))) ++n;
  const fs::path aside = path.string() + ".old-" + std::to_string(n);
  fs::rename(path, aside);
  return aside;
}

namespace {

// A status file that cannot be understood is no reason to give up on the run: its directory steps aside.
std::optional<RunStatus> status_of(const PlannedRun& run) {
  try {
    return read_status(run.directory);
  } catch (const DataError&) {
    RunStatus unknown;
    unknown.identity = "unreadable";
    return unknown;
  }
}

bool has_summary(const PlannedRun& run) {
  try {
    const auto summary = read_summary(run.directory);
    return summary && summary->identity == run.identity;
  } catch (const DataError&) {
    return false;
  }
}

// A damaged checkpoint costs the steps since the start, not the run, and not its neighbours in the cohort.
std::optional<Checkpoint> checkpoint_of(const PlannedRun& run) {
  const RunDirectory directory(run.directory);
  try {
    auto checkpoint = directory.read_checkpoint(run.identity);
    if (checkpoint && checkpoint->step == 0) return std::nullopt;  // no different from a run that never began
    return checkpoint;
  } catch (const CheckpointError& error) {
    const auto aside = move_aside(directory.checkpoint_path());
    log_warning(std::string(error.what()) + "; moved to " + aside.string() + ", the run starts again");
    return std::nullopt;
  }
}

void mark_failed(const RecordedRun& run, const std::string& reason) {
  RunStatus status;
  status.state = RunState::failed, status.reason = reason, status.identity = run.identity;
  run.directory.write_status(status);
}

// The identity of a text run holds the text's hash; one that was edited since the study was planned is another run. The
// runs of a cohort have one text: any of them tells for all.
bool is_still_itself(const PlannedRun& run) { return run_identity(run.config) == run.identity; }

}  // namespace

Progress progress_of(const PlannedRun& run) {
  const auto status = status_of(run);
  if (!status || status->identity != run.identity) return Progress::pending;
  const bool over = status->state == RunState::done || status->state == RunState::diverged;
  if (over && has_summary(run)) return Progress::finished;
  if (over) return Progress::pending;  // its summary is lost or damaged: "done" without evidence
  return status->state == RunState::failed ? Progress::failed : Progress::pending;
}

namespace {

// The runs of a cohort that go on from the same step train together.
struct Session {
  std::vector<std::size_t> plan_index;
  std::vector<RecordedRun> runs;
  std::vector<std::optional<Checkpoint>> checkpoints;
};

class HookObserver final : public TrainObserver {
 public:
  HookObserver(const Session& session, const CohortHooks& hooks, CohortOutcome& outcome)
      : session_(session), hooks_(hooks), outcome_(outcome) {}
  void evaluated(std::size_t, const Evaluation&) override {}
  void checkpointed(std::size_t, const Checkpoint&) override {}
  void stepped(std::int64_t step, double loss) override {
    if (hooks_.stepped) hooks_.stepped(step, loss);
  }
  void finished(std::size_t run, const RunResult& result) override {
    if (result.end == RunEnd::interrupted) outcome_.interrupted = true;
    else ++outcome_.trained;
    if (hooks_.finished) hooks_.finished(session_.plan_index[run], result.end);
  }

 private:
  const Session& session_;
  const CohortHooks& hooks_;
  CohortOutcome& outcome_;
};

void train_session(Session& session, Engine& engine, const std::vector<std::string>& argv, const CohortHooks& hooks,
                   CohortOutcome& outcome) {
  Cohort cohort;
  for (const auto& run : session.runs) cohort.runs.push_back(run.config);
  cohort.resume = session.checkpoints;
  RunRecorder recorder(session.runs, argv, engine.info());
  HookObserver observer(session, hooks, outcome);
  recorder.forward_to(&observer);
  recorder.stop_when(hooks.stop);
  if (hooks.started) {
    for (std::size_t i = 0; i < session.runs.size(); ++i) hooks.started(session.plan_index[i], session.runs[i].resumed_at.value_or(0));
  }
  try {
    engine.train(cohort, recorder);
  } catch (const std::exception& error) {
    // One session's error is not its neighbours': the cohort goes on, and the status says what happened.
    log_error(error.what());
    recorder.fail_unfinished(error.what());
    outcome.failed += session.runs.size();
  }
}

}  // namespace

CohortOutcome train_cohort(const Plan& plan, const PlannedCohort& cohort, Engine& engine, const std::vector<std::string>& argv,
                           const CohortHooks& hooks) {
  if (const auto& first = plan.runs[cohort.at(0)]; !is_still_itself(first))
    throw DataError("the text of " + first.directory.string() + " changed since the study was started", "start it again");
  CohortOutcome outcome;
  std::vector<RunClaim> claims;              // held until the cohort is through
  std::map<std::int64_t, Session> sessions;  // by the step they go on from
  for (const auto index : cohort) {
    const PlannedRun& run = plan.runs[index];
    auto claim = RunClaim::take(run.directory);
    if (!claim) {
      ++outcome.elsewhere;
      continue;
    }
    if (progress_of(run) == Progress::finished) continue;  // by another process, since the cohort was formed
    claims.push_back(std::move(*claim));
    const RunDirectory directory(run.directory);
    std::optional<Checkpoint> checkpoint;
    if (const auto status = status_of(run); status && status->identity == run.identity) checkpoint = checkpoint_of(run);
    else if (status) log_info(run.directory.string() + " held a run of another config; moved to " + move_aside(run.directory).string());
    auto& session = sessions[checkpoint ? checkpoint->step : 0];
    RecordedRun recorded{directory, run.config, run.identity, std::nullopt};
    if (checkpoint) recorded.resumed_at = checkpoint->step;
    session.plan_index.push_back(index);
    session.runs.push_back(std::move(recorded));
    session.checkpoints.push_back(std::move(checkpoint));
  }
  for (auto& [step, session] : sessions) {
    if (hooks.stop && hooks.stop()) {
      outcome.interrupted = true;
      break;
    }
    train_session(session, engine, argv, hooks, outcome);
    if (is_still_itself(plan.runs[session.plan_index[0]])) continue;
    for (const auto& run : session.runs) mark_failed(run, "its text changed while it was trained; start again");
    outcome.failed += session.runs.size();
  }
  return outcome;
}

}  // namespace ffn
