// Writes down what happens while a cohort trains: the side of TrainObserver that owns the run directories.
// Depends on core, config and the engine's structs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ffn/record/run_directory.hpp"

namespace ffn {

/// One run of a cohort, as its recorder has to know it.
struct RecordedRun {
  RunDirectory directory;
  RunConfig config;
  std::string identity;                    ///< run_identity(config)
  std::optional<std::int64_t> resumed_at;  ///< step of the checkpoint that it goes on from; none: it starts at 0
};

/// On construction every run gets its directory, config, meta and the status "running". A run that starts at 0 loses what
/// an earlier attempt left; one that resumes keeps the metrics up to its checkpoint, so that the files come out as if it
/// had never stopped (times aside).
/// Everything that is written can throw SystemError, out of the engine's train().
class RunRecorder final : public TrainObserver {
 public:
  RunRecorder(std::vector<RecordedRun> runs, const std::vector<std::string>& argv, const EngineInfo& engine);

  /// A second observer gets every call after the recorder has written it. Null for none.
  void forward_to(TrainObserver* second) { second_ = second; }
  /// Asked after every step, from the training thread; true ends the training with a checkpoint.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

  void evaluated(std::size_t run, const Evaluation& evaluation) override;
  void stepped(std::int64_t step, double loss) override;
  void checkpointed(std::size_t run, const Checkpoint& checkpoint) override;
  void finished(std::size_t run, const RunResult& result) override;
  bool stop_requested() override;

  /// Marks every run that has not finished as failed; for the catch around train(). Checkpoints stay.
  void fail_unfinished(const std::string& reason);

  const std::vector<RecordedRun>& runs() const { return runs_; }
  /// What the run came to; nothing before it is done or diverged.
  const std::optional<RunSummary>& summary(std::size_t run) const { return progress_.at(run).summary; }

 private:
  struct Progress {
    std::vector<Evaluation> history;
    std::int64_t safe_step = 0;
    bool finished = false;
    std::optional<RunSummary> summary;
  };

  void write_status(std::size_t run, RunState state, const std::string& reason = {}) const;

  std::vector<RecordedRun> runs_;
  std::vector<Progress> progress_;
  Cost cost_;  // one for all: the runs of a cohort have equal shapes
  TrainObserver* second_ = nullptr;
  std::function<bool()> stop_;
};

}  // namespace ffn
