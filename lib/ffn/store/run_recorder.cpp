#include "ffn/store/run_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "ffn/data/run_identity.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

namespace {

constexpr std::chrono::milliseconds kMetricsBatch(500);
constexpr std::size_t kMostUnwritten = 1000;
constexpr const char* kAnotherText =
    "its text changed since it was started, before it was read; put the text back, or start with --fresh, or under another name=..., to train on "
    "it as it is";

std::string end_reason(const RunResult& result) {
  if (result.end == RunEnd::interrupted) return "stopped on request at step " + std::to_string(result.steps) + "; start again to resume";
  if (result.end != RunEnd::diverged || !result.divergence) return "";
  const Divergence& d = *result.divergence;
  const auto shown = [](double value) {  // the sign of a NaN says nothing
    std::ostringstream text;
    text << (std::isnan(value) ? std::abs(value) : value);
    return text.str();
  };
  return "not finite at step " + std::to_string(d.step) + ": loss " + shown(d.loss) + ", learning rate " + shown(d.learning_rate) +
         ", gradient norm " + shown(d.grad_norm);
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

// What is kept while files wait: the weights are on file already.
RunResult without_weights(const RunResult& result) {
  RunResult out;
  out.end = result.end;
  out.steps = result.steps;
  out.train_seconds = result.train_seconds;
  out.hit = result.hit;
  out.divergence = result.divergence;
  out.metadata = result.metadata;
  out.computed_by = result.computed_by;
  return out;
}

}  // namespace

RunRecorder::RunRecorder(std::vector<RecordedRun> runs, const std::vector<std::string>& argv, const EngineInfo& engine)
    : runs_(std::move(runs)), progress_(runs_.size()) {
  if (!runs_.empty()) cost_ = model_cost(runs_[0].config.model, task_shape(runs_[0].config.task)).total;
  const std::string started = utc_now();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RecordedRun& run = runs_[i];
    if (!run.directory.create()) clear_for(i);
    progress_[i].mark = run.directory.mark();
    progress_[i].config = run.directory.write_config(run.config);
    progress_[i].safe_step = run.resumed_at.value_or(0);
    progress_[i].has_checkpoint = run.resumed_at.has_value();
    // At once, and before the meta file: a directory that was killed here has a run that tells whose it is, or no more than a config.
    write_status(i, RunState::running, progress_[i].safe_step, "", nullptr);
    run.directory.write_meta({argv, engine, started, run.resumed_at});
    if (run.config.log.tensorboard) progress_[i].events.emplace(run.directory.path(), run.config, run.metrics);
  }
  files_.commit();
}

// A text can change between the moment that a run is named by its hash and the moment that it is read.
void RunRecorder::prepared(const TaskShape& shape, const std::string& text) {
  for (const auto& run : runs_) {
    if (!text.empty() && run_identity(run.config, text) != run.identity)
      throw DataError(run.directory.path().string() + ": " + kAnotherText);
  }
  if (!runs_.empty()) cost_ = model_cost(runs_[0].config.model, shape).total;
  if (second_) second_->prepared(shape, text);
}

// What earlier training left and this one must not find.
void RunRecorder::clear_for(std::size_t run) {
  const RecordedRun& recorded = runs_[run];
  recorded.directory.remove_temporaries();
  if (!recorded.resumed_at) return recorded.directory.remove_results();
  recorded.directory.remove_final_results();
  std::error_code error;  // where the size cannot be had the file is written; a link is replaced, and not what it leads to
  const auto metrics = recorded.directory.metrics_path();
  if (link_type_of(metrics) == std::filesystem::file_type::symlink || std::filesystem::file_size(metrics, error) != recorded.metrics.size())
    write_file(recorded.directory.metrics_path(), recorded.metrics, Durability::flushed, &files_);
  auto& progress = progress_[run];
  for_each_evaluation(recorded.metrics, recorded.directory.metrics_path(), [&](const Evaluation& e) { progress.tally.add(e); });
  progress.metrics.add(recorded.metrics);
}

void RunRecorder::require_own_directory(std::size_t run) const {
  const RunDirectory& directory = runs_[run].directory;
  if (directory.mark() == progress_[run].mark) return;
  throw SystemError(directory.path().string() + " was removed or replaced while it was trained in",
                    "start again; what stands there now was not touched");
}

FileFacts RunRecorder::metrics_facts(std::size_t run) const { return {progress_[run].metrics.size(), progress_[run].metrics.text()}; }

void RunRecorder::evaluated(std::size_t run, const Evaluation& evaluation) {
  auto& progress = progress_.at(run);
  // A checkpoint and an evaluation can fall on the same step: the resumed run then repeats one that is on file.
  if (evaluation.step > progress.tally.last_step()) {
    const bool first = progress.tally.empty();
    progress.tally.add(evaluation);
    progress.unwritten.push_back(evaluation);
    // The first is there at once, as a sign of life; more go out in batches, or where something relies on them.
    const bool due = std::chrono::steady_clock::now() - metrics_written_ > kMetricsBatch;
    if (first || due || progress.unwritten.size() >= kMostUnwritten) write_metrics(run);
  }
  if (second_) second_->evaluated(run, evaluation);
}

void RunRecorder::write_metrics(std::size_t run, FileGroup* group) {
  require_own_directory(run);
  auto& progress = progress_[run];
  append_metrics(runs_[run].directory.metrics_path(), progress.unwritten, progress.metrics, group);
  if (progress.events) progress.events->append(progress.unwritten);
  progress.unwritten.clear();
}

void RunRecorder::stepped(std::int64_t step, double loss) {
  commit();
  if (const auto now = std::chrono::steady_clock::now(); now - metrics_written_ > kMetricsBatch) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (!progress_[i].unwritten.empty()) write_metrics(i);
    }
    metrics_written_ = now;
  }
  if (second_) second_->stepped(step, loss);
}

void RunRecorder::checkpointed(std::size_t run, const Checkpoint& checkpoint) {
  write_metrics(run, &files_);
  progress_.at(run).has_checkpoint = true;
  runs_.at(run).directory.write_checkpoint(checkpoint, runs_[run].identity, metrics_facts(run), &files_);
  write_status(run, RunState::running, checkpoint.step);
  waiting_[run].safe_step = checkpoint.step;
  commit_if_all_wait();
  if (second_) second_->checkpointed(run, checkpoint);
}

void RunRecorder::finished(std::size_t run, const RunResult& result) {
  const RecordedRun& recorded = runs_.at(run);
  write_metrics(run, &files_);
  if (progress_[run].events) progress_[run].events->end(session_end_of(result.end));
  Waiting waiting;
  waiting.result = without_weights(result);
  if (result.end == RunEnd::interrupted) {
    waiting.safe_step = waiting_.count(run) ? waiting_[run].safe_step : progress_[run].safe_step;
  } else {
    waiting.safe_step = result.steps;
    files_.flush_first(recorded.directory.metrics_path());
    waiting.summary = summarize(recorded.identity, cost_, progress_[run].tally, result);
    auto& files = waiting.summary->files;
    files[recorded.directory.config_path().filename()] = progress_[run].config;
    files[recorded.directory.metrics_path().filename()] = metrics_facts(run);
    files[recorded.directory.weights_path().filename()] =
        recorded.directory.write_weights(recorded.config, recorded.identity, result.steps, result.weights, result.metadata, &files_);
    recorded.directory.write_summary(*waiting.summary, &files_);
  }
  // They appear in this order: the status comes last of what it vouches for.
  write_status(run, state_of(result.end), waiting.safe_step, end_reason(result));
  waiting_[run] = std::move(waiting);
  commit_if_all_wait();
}

void RunRecorder::commit_if_all_wait() {
  const auto finished = std::count_if(progress_.begin(), progress_.end(), [](const Progress& p) { return p.finished; });
  if (waiting_.size() + static_cast<std::size_t>(finished) == runs_.size()) commit();
}

void RunRecorder::commit() {
  if (files_.empty()) return;
  auto waiting = std::exchange(waiting_, {});  // whose files cannot be put in place has not finished
  for (const auto& [run, w] : waiting) require_own_directory(run);
  files_.commit();
  for (auto& [run, w] : waiting) {
    progress_[run].safe_step = w.safe_step;
    progress_[run].finished = w.result.has_value();
    progress_[run].summary = std::move(w.summary);
  }
  for (const auto& [run, w] : waiting) {
    if (!w.result) continue;
    // The checkpoint goes only when nobody can need it any more.
    if (w.result->end != RunEnd::interrupted && progress_[run].has_checkpoint) runs_[run].directory.remove_checkpoint();
    if (second_) second_->finished(run, *w.result);
  }
}

bool RunRecorder::stop_requested() { return (stop_ && stop_()) || (second_ && second_->stop_requested()); }

bool RunRecorder::evaluating(std::int64_t step, double share) {
  return !(stop_ && stop_()) && (!second_ || second_->evaluating(step, share));
}

void RunRecorder::fail_unfinished(const std::string& reason) {
  try {
    commit();
  } catch (const std::exception&) {
    // What could not be put in place has failed, too; `reason` is what came first.
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (progress_[i].finished) continue;
    progress_[i].finished = true;
    if (runs_[i].directory.mark() != progress_[i].mark) continue;  // what is there is not this run's to write in
    try {
      write_metrics(i);
    } catch (const std::exception&) {
      // Perhaps the very reason; the status has to be written all the same.
    }
    if (progress_[i].events) progress_[i].events->end(SessionEnd::failure);
    write_status(i, RunState::failed, progress_[i].safe_step, reason);
  }
  files_.commit();
}

void RunRecorder::write_status(std::size_t run, RunState state, std::int64_t step, const std::string& reason) {
  write_status(run, state, step, reason, &files_);
}

void RunRecorder::write_status(std::size_t run, RunState state, std::int64_t step, const std::string& reason, FileGroup* group) {
  RunStatus status;
  status.state = state;
  status.reason = reason;
  status.identity = runs_[run].identity;
  status.step = step;
  status.config_checksum = progress_[run].config.checksum;
  runs_[run].directory.write_status(status, group);
}

}  // namespace ffn
