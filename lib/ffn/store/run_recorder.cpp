#include "ffn/store/run_recorder.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "ffn/data/run_identity.hpp"
#include "ffn/data/task.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kMetricsBatch(500);
constexpr const char* kAnotherText =
    "its data file changed since it was started, before it was read; put the file back, or start again to train on it as it is";

std::string end_reason(const RunResult& result) {
  if (result.end == RunEnd::interrupted) return "stopped on request at step " + std::to_string(result.steps) + "; start again to resume";
  if (result.end != RunEnd::diverged || !result.divergence) return result.reason;
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
  constexpr RunState kOfEnd[] = {RunState::done, RunState::diverged, RunState::interrupted, RunState::failed};  // as RunEnd
  return kOfEnd[static_cast<std::size_t>(end)];
}

// The result to keep while files wait: the weights are already written.
RunResult without_weights(const RunResult& result) {
  return {result.end, result.steps, result.train_seconds, result.hit, result.divergence, {}, result.metadata, result.computed_by};
}

}  // namespace

RunRecorder::RunRecorder(std::vector<RecordedRun> runs, const std::vector<std::string>& argv, const EngineInfo& engine)
    : runs_(std::move(runs)), progress_(runs_.size()) {
  if (!runs_.empty() && !runs_[0].config.command) cost_ = model_cost(runs_[0].config.model, task_shape(runs_[0].config.task)).total;
  const std::string started = utc_now();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const RecordedRun& run = runs_[i];
    if (!make_directory(run.directory.path()) || run.resumed_at) clear_for(i);  // one that goes on from a shorter run has a new directory
    auto& progress = progress_[i];
    progress.has_checkpoint = run.resumed_at.has_value();
    RunRecord& record = progress.record = new_record(run.config, run.identity);
    record.step = path_exists(run.directory.checkpoint_path()) ? run.resumed_at.value_or(0) : 0;  // the step that its own checkpoint has
    record.sessions = run.sessions;
    record.sessions->push_back(session_json(argv, engine, started, run.resumed_at));
    run.directory.write_record(record, Durability::cached);
  }
  files_.commit();
}

// A text can change between the moment that a run is named by its hash and the moment that it is read.
void RunRecorder::prepared(const TaskShape& shape, const std::string& text) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!text.empty() && run_identity(runs_[i].config, text) != runs_[i].identity)
      throw DataError(runs_[i].directory.path().string() + ": " + kAnotherText);
    progress_[i].record.text = text;
  }
  if (!runs_.empty()) cost_ = model_cost(runs_[0].config.model, shape).total;
  if (second_) second_->prepared(shape, text);
}

// Removes files of earlier training that this one must not find.
void RunRecorder::clear_for(std::size_t run) {
  const RecordedRun& recorded = runs_[run];
  remove_temporaries(recorded.directory.path());
  if (!recorded.resumed_at) return recorded.directory.remove_results();
  const auto metrics = recorded.directory.metrics_path();
  write_file(metrics, recorded.metrics, Durability::flushed, &files_);
  auto& progress = progress_[run];
  for_each_evaluation(recorded.metrics, metrics, [&](const Evaluation& e) { progress.tally.add(e); });
  progress.metrics = recorded.metrics;
}

FileFacts RunRecorder::metrics_facts(std::size_t run) const { return {progress_[run].metrics.size(), checksum_of(progress_[run].metrics)}; }

void RunRecorder::evaluated(std::size_t run, const Evaluation& evaluation) {
  auto& progress = progress_.at(run);
  // A checkpoint and an evaluation can fall on the same step: the resumed run then repeats one that is on file.
  if (evaluation.step > progress.tally.last_step()) {
    const bool first = progress.tally.empty();
    progress.tally.add(evaluation);
    progress.unwritten.push_back(evaluation);
    // The first is there at once, as a sign of life; more go out in batches, or where something relies on them.
    if (first || std::chrono::steady_clock::now() - metrics_written_ > kMetricsBatch) write_grown_metrics(run);
  }
  if (second_) second_->evaluated(run, evaluation);
}

// A long file waits until it has grown by a part of itself: all that is written is a few times the whole.
void RunRecorder::write_grown_metrics(std::size_t run) {
  auto& progress = progress_[run];
  if (keeps_files(run) && progress.unwritten.size() > progress.lines / 16) write_metrics(run, nullptr);
}

void RunRecorder::write_metrics(std::size_t run, FileGroup* group) {
  auto& progress = progress_[run];
  progress.metrics += metrics_lines(progress.unwritten);
  progress.lines += progress.unwritten.size();
  write_file(runs_[run].directory.metrics_path(), progress.metrics, group ? Durability::flushed : Durability::cached, group);
  progress.unwritten.clear();
}

void RunRecorder::stepped(std::int64_t step, double loss) {
  commit();
  if (const auto now = std::chrono::steady_clock::now(); now - metrics_written_ > kMetricsBatch) {
    for (std::size_t i = 0; i < runs_.size(); ++i) write_grown_metrics(i);
    metrics_written_ = now;
  }
  if (second_) second_->stepped(step, loss);
}

void RunRecorder::checkpointed(std::size_t run, const Checkpoint& checkpoint) {
  auto& progress = progress_.at(run);
  write_metrics(run, &files_);
  progress.has_checkpoint = true;
  progress.checkpoint = runs_[run].directory.write_checkpoint(checkpoint, runs_[run].identity, metrics_facts(run), &files_);
  RunRecord record = progress.record;
  record.step = checkpoint.step;
  runs_[run].directory.write_record(record, Durability::cached, &files_);
  waiting_[run].record = std::move(record);
  commit_if_all_wait();
  if (second_) second_->checkpointed(run, checkpoint);
}

void RunRecorder::finished(std::size_t run, const RunResult& result) {
  const RecordedRun& recorded = runs_.at(run);
  auto& progress = progress_[run];
  Waiting waiting;
  waiting.record = waiting_.count(run) ? waiting_[run].record : progress.record;
  waiting.result = without_weights(result);
  if (keeps_files(run) || result.end == RunEnd::interrupted) write_metrics(run, &files_);
  RunRecord& record = waiting.record;
  record.state = state_of(result.end);
  record.reason = end_reason(result);
  if (result.end != RunEnd::interrupted) {
    record.step = result.steps;
    record.summary = summarize(recorded.identity, cost_, progress.tally, result);
    if (keeps_files(run)) {
      auto& files = record.summary->files;
      files[recorded.directory.metrics_path().filename()] = metrics_facts(run);
      const auto write_weights = [&](const fs::path& path, std::int64_t step, const std::vector<TensorData>& weights) {
        files[path.filename()] =
            recorded.directory.write_weights(path, *record.config, recorded.identity, step, weights, result.metadata, &files_);
      };
      for (const auto& name : result.files) files[name] = recorded.directory.facts_of(name);
      if (!recorded.config.command) write_weights(recorded.directory.weights_path(), result.steps, result.weights);
      if (result.best) write_weights(recorded.directory.best_path(), result.best->step, result.best->weights);
      const bool has_state = recorded.config.keep == "state" && result.end == RunEnd::done && result.steps == recorded.config.train.steps;
      if (has_state) files[recorded.directory.checkpoint_path().filename()] = progress.checkpoint;
    }
  }
  // They appear in this order: run.json comes last of what it vouches for.
  recorded.directory.write_record(record, Durability::flushed, &files_);
  waiting_[run] = std::move(waiting);
  commit_if_all_wait();
}

void RunRecorder::commit_if_all_wait() {
  const auto finished = std::count_if(progress_.begin(), progress_.end(), [](const Progress& p) { return p.finished; });
  if (waiting_.size() + static_cast<std::size_t>(finished) == runs_.size()) commit();
}

void RunRecorder::commit() {
  if (files_.empty()) return;
  auto waiting = std::exchange(waiting_, {});  // a run whose files cannot be put in place has not finished
  files_.commit();
  for (auto& [run, w] : waiting) {
    progress_[run].finished = w.result.has_value();
    progress_[run].record = std::move(w.record);
  }
  for (const auto& [run, w] : waiting) {
    if (!w.result) continue;
    // The checkpoint goes only when nobody can need it any more.
    if (w.result->end != RunEnd::interrupted && progress_[run].has_checkpoint) {
      const auto& directory = runs_[run].directory;
      if (!keeps_files(run)) directory.remove_results();
      else if (progress_[run].record.summary->files.count(directory.checkpoint_path().filename()) == 0) directory.remove_checkpoint();
    }
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
    // Runs whose files could not be put in place fail below; `reason` came first.
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    auto& progress = progress_[i];
    if (progress.finished) continue;
    progress.finished = true;
    try {
      if (keeps_files(i)) write_metrics(i, nullptr);
    } catch (const std::exception&) {
      // Perhaps the very reason; run.json has to be written all the same.
    }
    progress.record.state = RunState::failed;
    progress.record.reason = reason;
    runs_[i].directory.write_record(progress.record, Durability::flushed, &files_);
  }
  files_.commit();
}

}  // namespace ffn
