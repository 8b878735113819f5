#include "ffn/record/run_recorder.hpp"

#include <sstream>

namespace ffn {

namespace {

std::string reason_of(const RunResult& result) {
  if (result.end == RunEnd::interrupted) return "stopped on request at step " + std::to_string(result.steps) + "; start again to resume";
  if (result.end != RunEnd::diverged || !result.divergence) return "";
  const Divergence& d = *result.divergence;
  std::ostringstream text;
  text << "not finite at step " << d.step << ": loss " << d.loss << ", learning rate " << d.learning_rate << ", gradient norm "
       << d.grad_norm;
  return text.str();
}

RunState state_of(RunEnd end) {
  switch (end) {
    case RunEnd::done:
      return RunState::done;
    case RunEnd::diverged:
      return RunState::diverged;
    case RunEnd::interrupted:
      return RunState::interrupted;
  }
  return RunState::failed;
}

}  // namespace

RunRecorder::RunRecorder(std::vector<RecordedRun> runs, const std::vector<std::string>& argv, const EngineInfo& engine)
    : runs_(std::move(runs)), progress_(runs_.size()) {
  if (!runs_.empty()) cost_ = model_cost(runs_[0].config.model, task_shape(runs_[0].config.task)).total;
  const std::string started = utc_now();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RecordedRun& run = runs_[i];
    run.directory.create();
    if (run.resumed_at) {
      run.directory.remove_final_results();
      run.directory.truncate_metrics_after(*run.resumed_at);
      progress_[i].history = read_metrics(run.directory.metrics_path());
      progress_[i].safe_step = *run.resumed_at;
    } else {
      run.directory.remove_results();
    }
    run.directory.write_config(run.config);
    run.directory.write_meta({argv, engine, started, run.resumed_at});
    write_status(i, RunState::running);
  }
}

void RunRecorder::evaluated(std::size_t run, const Evaluation& evaluation) {
  auto& history = progress_.at(run).history;
  // A checkpoint and an evaluation can fall on the same step: the resumed run then repeats one that is on file.
  if (history.empty() || evaluation.step > history.back().step) {
    runs_[run].directory.append_metrics(evaluation);
    history.push_back(evaluation);
  }
  if (second_) second_->evaluated(run, evaluation);
}

void RunRecorder::stepped(std::int64_t step, double loss) {
  if (second_) second_->stepped(step, loss);
}

void RunRecorder::checkpointed(std::size_t run, const Checkpoint& checkpoint) {
  runs_.at(run).directory.write_checkpoint(checkpoint, runs_[run].identity);
  progress_[run].safe_step = checkpoint.step;
  write_status(run, RunState::running);
  if (second_) second_->checkpointed(run, checkpoint);
}

void RunRecorder::finished(std::size_t run, const RunResult& result) {
  const RecordedRun& recorded = runs_.at(run);
  Progress& progress = progress_[run];
  if (result.end != RunEnd::interrupted) {
    // The status comes last of what it vouches for; the checkpoint goes only when nobody can need it any more.
    progress.summary = summarize(recorded.identity, cost_, progress.history, result);
    recorded.directory.write_weights(recorded.config, recorded.identity, result.steps, result.weights, result.metadata);
    recorded.directory.write_summary(*progress.summary);
    progress.safe_step = result.steps;
  }
  write_status(run, state_of(result.end), reason_of(result));
  progress.finished = true;
  if (result.end != RunEnd::interrupted) recorded.directory.remove_checkpoint();
  if (second_) second_->finished(run, result);
}

bool RunRecorder::stop_requested() { return (stop_ && stop_()) || (second_ && second_->stop_requested()); }

void RunRecorder::fail_unfinished(const std::string& reason) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (progress_[i].finished) continue;
    write_status(i, RunState::failed, reason);
    progress_[i].finished = true;
  }
}

void RunRecorder::write_status(std::size_t run, RunState state, const std::string& reason) const {
  RunStatus status;
  status.state = state, status.reason = reason;
  status.identity = runs_[run].identity, status.step = progress_[run].safe_step;
  runs_[run].directory.write_status(status);
}

}  // namespace ffn
