// The interface between planning and recording on one side and the training engine on the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ffn/config/run_config.hpp"
#include "ffn/train/run_result.hpp"

namespace ffn {

/// Runs of one shape that train together: they may differ in seed, learning rate, weight decay and dropout rate.
struct Cohort {
  std::vector<RunConfig> runs;
  std::vector<std::optional<Checkpoint>> resume;  ///< empty, or one per run; all at the same step, evaluated or not
};

/// Receives what happens while a cohort trains; an observer overrides what it is about. `run` counts within the cohort.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Once, before the first step: what the runs will be trained on, as it was read. `text`: SHA-256 of the text, empty without one. Who
  /// throws ends the training.
  virtual void prepared(const TaskShape& /*shape*/, const std::string& /*text*/) {}
  virtual void evaluated(std::size_t /*run*/, const Evaluation&) {}
  /// Every now and then, at least once per evaluation; cheap to ignore. `loss` is the mean over the cohort's live runs.
  virtual void stepped(std::int64_t /*step*/, double /*loss*/) {}
  virtual void checkpointed(std::size_t /*run*/, const Checkpoint&) {}
  virtual void finished(std::size_t /*run*/, const RunResult&) {}
  /// Asked at least after every evaluation, and where steps are short every 20 ms or so; true makes the engine checkpoint every live run
  /// and finish it as interrupted.
  virtual bool stop_requested() { return false; }
  /// Every now and then during an evaluation that takes a while; `share` of it is done. False ends it, as stop_requested() does: the
  /// resumed run repeats it.
  virtual bool evaluating(std::int64_t /*step*/, double /*share*/) { return !stop_requested(); }
};

/// The engine of a result: everything beside the config that its bits may depend on.
struct EngineInfo {
  std::string engine;           ///< "cpu" or "torch"
  std::string device;           ///< "cpu", or "cuda" with the GPU's name
  std::string kernel_isa = {};  ///< of our own kernels
  std::string libtorch = {};    ///< version and BLAS; empty for the cpu engine
  std::string reason = {};      ///< why this engine
  /// The same text means: the same bits can be expected.
  std::string text() const;
};

/// How many threads there are for a run just now, 1 at least; it may change as other workers begin and end.
using ThreadCount = std::function<std::size_t()>;

/// Trains. Everything crosses as plain structs; an engine never writes files and never logs by itself.
class Engine {
 public:
  virtual ~Engine() = default;
  /// The engine that would train this run. Opens LibTorch if that does.
  virtual EngineInfo info(const RunConfig& config) = 0;
  /// Opens what training this run needs, so that worker processes that are forked later need not; touches no GPU.
  /// Throws UsageError if what the config asks for cannot be had.
  virtual void prepare(const RunConfig& config) = 0;
  /// Which of the workers this process is: GPUs are dealt out by it.
  virtual void set_worker(std::size_t index) = 0;
  /// How many threads a step may take, asked again and again while it trains; 1 without it. What they compute does not depend on it.
  virtual void set_threads(ThreadCount threads) = 0;
  /// Trains to the end, or until stopped. Throws DataError, CheckpointError; std::invalid_argument if the runs do not form
  /// a cohort.
  virtual void train(const Cohort& cohort, TrainObserver& observer) = 0;
};

}  // namespace ffn
