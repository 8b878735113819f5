// The interface between planning, recording and comparing on one side, and computing on the other: the training engine, and the
// functions that need LibTorch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/base/tensor_data.hpp"
#include "ffn/config/run_config.hpp"

namespace ffn {

class Learner;
class Task;

/// A run's measurements at one evaluation. Names are those of the metric catalogue.
struct Evaluation {
  std::int64_t step = 0;    ///< optimizer steps done
  double time_s = 0;        ///< seconds of training so far, evaluation not counted
  std::int64_t tokens = 0;  ///< tokens (or vectors) trained on so far
  std::vector<std::pair<std::string, double>> metrics;
};

/// The first evaluation at which the target was reached.
struct Hit {
  std::int64_t step = 0;
  double time_s = 0;
  std::int64_t tokens = 0;
};

/// failed: of a program that ended without a result. Unlike a run that an error of ours ended, it is not begun again.
enum class RunEnd { done, diverged, interrupted, failed };

/// Why and where a run stopped being finite.
struct Divergence {
  std::int64_t step = 0;
  double loss = 0, learning_rate = 0, grad_norm = 0;
};

/// In Checkpoint::numbers: it was taken before the evaluation at its step.
inline constexpr const char* kEvaluationPending = "evaluation_pending";

/// Everything that a run needs to go on as if it had never stopped. Random numbers need no state: they are functions of
/// the seed and the step.
struct Checkpoint {
  std::int64_t step = 0;
  std::map<std::string, double> numbers;      ///< counters and sums
  std::vector<TensorData> tensors;            ///< parameters and optimizer state, one row each
  std::vector<std::string> computed_by = {};  ///< EngineInfo::text() of all that worked on it, one after the other
  bool is_evaluated() const { return numbers.count(kEvaluationPending) == 0; }
};

/// The weights of the evaluation that was best, of a run with keep: best. RunConfig::best_by() says by what.
struct BestWeights {
  std::int64_t step = 0;
  std::vector<TensorData> weights;
};

struct RunResult {
  RunEnd end = RunEnd::done;
  std::int64_t steps = 0;
  double train_seconds = 0;
  std::optional<Hit> hit;
  std::optional<Divergence> divergence;
  std::vector<TensorData> weights;              ///< torch.nn.Linear layout and names
  std::map<std::string, std::string> metadata;  ///< what using the weights needs beside the config: a text's "alphabet"
  std::vector<std::string> computed_by = {};    ///< as in Checkpoint; more than one: it was resumed under another engine
  std::optional<BestWeights> best = {};
  std::string reason = {};              ///< why it failed, or diverged without a Divergence; for a person
  std::vector<std::string> files = {};  ///< that a program left in the run's directory
};

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

/// Differences of LibTorch's own float32 from float64 scatter by less than this factor between one summation order and
/// another; a factor of 1.001 in one gradient is off by hundreds.
constexpr double kVerifyLimit = 16;

/// How `ffn-train verify` compares the engines.
struct VerifyRequest {
  std::int64_t steps = 10;     ///< whose weights are compared; the gradient is that of the first
  std::function<bool()> stop;  ///< asked between steps
};

/// One parameter's largest difference between the cpu engine and LibTorch in float64, and what float32 explains of it.
struct VerifiedParameter {
  std::string name;
  double gradient = 0, gradient_unit = 0;  ///< after one step
  double weight = 0, weight_unit = 0;      ///< after all of them, of the element that is off by most units
};

struct VerifyResult {
  std::string not_covered;  ///< why there is nothing to compare: the cpu engine lacks the model; empty otherwise
  std::vector<VerifiedParameter> parameters;
  double loss = 0, loss_unit = 0;            ///< of the validation set after the steps, in nats
  bool diverges = false;                     ///< on LibTorch, too: there is nothing to compare
  std::int64_t steps = 0;                    ///< that were compared; 0 with near_ties: of no seed could any be
  std::int64_t seed = 0;                     ///< of the run that was compared
  std::int64_t seeds_passed_over = 0;        ///< before it: theirs have near ties in the first step
  std::int64_t batch_size = 0;               ///< with which it was: the config's, or fewer where every seed's first step has near ties
  std::int64_t near_ties = 0;                ///< tokens of step `steps` + 1 whose choice of experts is within rounding of a tie
  std::int64_t validation_near_ties = 0;     ///< of the validation set: its loss is not compared then
  std::string device = {};                   ///< where LibTorch was tried in the cpu engine's place: "cuda (NVIDIA …)"; else empty
  double seconds = 0, libtorch_seconds = 0;  ///< per step of one run, the first step left out: of what was tried, of LibTorch on the CPU
};

/// One figure of `ffn-train bench`, or several that belong together.
struct Measurement {
  std::string group;  ///< "product", "ffn", "ffn of one size" or "steps"
  std::string name;   ///< what was measured
  std::vector<std::pair<std::string, double>> values;
};

struct BenchRequest {
  std::vector<std::string> groups;  ///< of Measurement; empty: all
  /// Feed-forward layers of one size instead of many small ones, where d_model is above 0; d_ff 0: four times that.
  std::int64_t d_model = 0, d_ff = 0, tokens = 512;
  ComputeConfig compute = {};  ///< device and precision of those
  double seconds = 0.3;        ///< to spend on each figure
  std::function<bool()> stop;  ///< asked between figures
};

enum class LogLevel { debug, info, warning };

struct LibTorchInfo {
  std::string version;
  std::string blas;  ///< library and core type, where it tells
  bool cuda;         ///< whether it was built to use GPUs
};

/// The functions that need LibTorch: a shared library, opened on demand, because loading LibTorch costs 0.3 s and 160 MB.
class LibTorch {
 public:
  virtual ~LibTorch() = default;
  virtual LibTorchInfo info() const = 0;
  /// Sets the receiver of LibTorch's own warnings.
  virtual void set_log(std::function<void(LogLevel, const std::string&)> log) = 0;
  /// LibTorch's modules on the run axis, trained by autograd on compute.device. The task must outlive the learner. `worker` picks
  /// the GPU where the device is "cuda" without a number. Throws UsageError for a device that is not there.
  virtual std::unique_ptr<Learner> make_learner(const std::vector<RunConfig>& runs, const Task& task, std::size_t worker) = 0;
  /// "cpu", or "cuda" with the name of the GPU that make_learner would take.
  virtual std::string device_text(const std::string& device, std::size_t worker) = 0;
  /// Both engines side by side on one run.
  virtual VerifyResult verify(const RunConfig& config, const VerifyRequest& request) = 0;
  /// Measures products, feed-forward layers and training steps; `emit` gets each result as it is there.
  virtual void bench(const BenchRequest& request, const std::function<void(const Measurement&)>& emit) = 0;
};

/// Opens the library next to the program (or where FFN_TRAIN_ENGINE says). Throws SystemError with the loader's message.
/// Loaded once per process; it lives until the process ends.
LibTorch& load_libtorch();

/// Sets the receiver of LibTorch's own warnings for when it is loaded.
void log_libtorch_with(std::function<void(LogLevel, const std::string&)> log);

/// The symbol that the library exports; the text must equal the program's own, so that an old library is refused.
using CreateLibTorch = LibTorch* (*)(const char* interface_version);
inline constexpr const char* kCreateLibTorchSymbol = "ffn_create_libtorch";
inline constexpr const char* kInterfaceVersion = "ffn-libtorch 10";

}  // namespace ffn
