// Writes down what happens while a cohort trains: the side of TrainObserver that owns the run directories.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ffn/store/run_directory.hpp"

namespace ffn {

/// One run of a cohort, as its recorder has to know it.
struct RecordedRun {
  RunDirectory directory;
  RunConfig config;
  std::string identity;                     ///< run_identity(config)
  std::optional<std::int64_t> resumed_at;   ///< step of the checkpoint that it goes on from; none: it starts at 0
  std::string metrics = {};                 ///< StoredCheckpoint::metrics of a run that resumes
  JsonValue sessions = JsonValue::array();  ///< RunRecord::sessions of those who trained it before
};

/// On construction every run gets its directory and a run.json that says "running". A run that starts at 0 loses what an earlier attempt
/// left; one that resumes keeps the metrics up to its checkpoint, so that the files come out as if it had never stopped (times aside).
/// A run of which the summary alone is kept has metrics.jsonl only while a checkpoint rests on it.
/// Files of runs that finish or checkpoint at the same step are written at once but appear together, after one flush: as soon as
/// no run can add to them, at the latest with the next stepped().
/// Every write, and a directory that is gone, can throw SystemError out of the engine's train().
class RunRecorder final : public TrainObserver {
 public:
  RunRecorder(std::vector<RecordedRun> runs, const std::vector<std::string>& argv, const EngineInfo& engine);

  /// A second observer gets every call after the recorder; finished() when the run's files are in place, and without the
  /// weights. Null for none.
  void forward_to(TrainObserver* second) { second_ = second; }
  /// Asked as often as TrainObserver::stop_requested(), from the training thread; true ends the training with a checkpoint.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

  /// Throws DataError where the text that was read is not the one of the runs' identity.
  void prepared(const TaskShape& shape, const std::string& text) override;
  void evaluated(std::size_t run, const Evaluation& evaluation) override;
  void stepped(std::int64_t step, double loss) override;
  void checkpointed(std::size_t run, const Checkpoint& checkpoint) override;
  void finished(std::size_t run, const RunResult& result) override;
  bool stop_requested() override;
  bool evaluating(std::int64_t step, double share) override;

  /// Marks every run that has not finished as failed; for the catch around train(). Checkpoints stay, and what was waiting
  /// for other runs appears.
  void fail_unfinished(const std::string& reason);

  const std::vector<RecordedRun>& runs() const { return runs_; }
  /// The run's summary; empty before it is done or diverged.
  const std::optional<RunSummary>& summary(std::size_t run) const { return progress_.at(run).record.summary; }

 private:
  struct Progress {
    RunRecord record;
    MetricTally tally;
    std::vector<Evaluation> unwritten;  // of what is in the tally
    std::string metrics;                // as on file
    std::size_t lines = 0;              // written there by this process
    bool has_checkpoint = false;
    FileFacts checkpoint;   // of the last one written here
    bool finished = false;  // and its files in place
  };
  /// A run whose files are written, but not in place before commit().
  struct Waiting {
    RunRecord record;
    std::optional<RunResult> result;  // of a run that has ended, but for the weights; none: it goes on from a checkpoint
  };

  void write_grown_metrics(std::size_t run);
  void write_metrics(std::size_t run, FileGroup* group);
  FileFacts metrics_facts(std::size_t run) const;
  void clear_for(std::size_t run);
  bool keeps_files(std::size_t run) const { return runs_[run].config.keep != "summary"; }
  void commit();
  void commit_if_all_wait();

  std::vector<RecordedRun> runs_;
  std::vector<Progress> progress_;
  std::map<std::size_t, Waiting> waiting_;  // by run
  FileGroup files_;                         // theirs
  Cost cost_;                               // one for all: the runs of a cohort have equal shapes
  std::chrono::steady_clock::time_point metrics_written_ = std::chrono::steady_clock::now();
  TrainObserver* second_ = nullptr;
  std::function<bool()> stop_;
};

}  // namespace ffn
