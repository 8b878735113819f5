#include "ffn/study/train_cohort.hpp"

#include <map>
#include <set>

#include "ffn/core/error.hpp"
#include "ffn/record/log.hpp"
#include "ffn/record/run_claim.hpp"
#include "ffn/record/run_recorder.hpp"
#include "ffn/tasks/run_identity.hpp"

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

// The summary of a run that is over, if it is this run's and can be read.
std::optional<RunSummary> summary_of(const PlannedRun& run) {
  try {
    auto summary = read_summary(run.directory);
    return summary && summary->identity == run.identity ? summary : std::nullopt;
  } catch (const DataError&) {
    return std::nullopt;
  }
}

bool is_over(const RunStatus& status) { return status.state == RunState::done || status.state == RunState::diverged; }

// Why what stands in the run's directory is another's; empty if it is not, or if nothing is there.
std::string other_owner(const PlannedRun& run) {
  const auto status = status_of(run);
  if (!status) return {};
  if (status->identity != run.identity) return "a run of another config";
  const auto summary = is_over(*status) ? summary_of(run) : std::nullopt;
  if (summary && !computed_as_asked(run.config.compute, summary->computed_by)) return "this run by another engine than was asked for";
  return {};
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
  if (is_over(*status)) {  // without a summary it is "done" without evidence
    const auto summary = summary_of(run);
    return summary && computed_as_asked(run.config.compute, summary->computed_by) ? Progress::finished : Progress::pending;
  }
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

// Bits may differ from those of an undisturbed run; the run's summary says so, too.
void say_other_engines(const Session& session, const EngineInfo& info) {
  std::set<std::string> others;
  for (const auto& checkpoint : session.checkpoints) {
    if (checkpoint && !checkpoint->computed_by.empty() && checkpoint->computed_by.back() != info.text())
      others.insert(checkpoint->computed_by.back());
  }
  for (const auto& other : others)
    log_warning("going on with " + info.text() + " what " + other + " began: bits may differ from those of an undisturbed run");
}

void train_session(Session& session, Engine& engine, const std::vector<std::string>& argv, const CohortHooks& hooks,
                   CohortOutcome& outcome) {
  Cohort cohort;
  for (const auto& run : session.runs) cohort.runs.push_back(run.config);
  cohort.resume = session.checkpoints;
  const auto info = engine.info(cohort.runs[0]);
  say_other_engines(session, info);
  RunRecorder recorder(session.runs, argv, info);
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
    const std::string other = other_owner(run);
    if (!other.empty()) log_info(run.directory.string() + " held " + other + "; moved to " + move_aside(run.directory).string());
    else if (status_of(run)) checkpoint = checkpoint_of(run);
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
