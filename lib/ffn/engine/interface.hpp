// Where the side that plans, records and compares meets the side that computes: the training engine, and what needs
// LibTorch.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/config/run_config.hpp"
#include "ffn/core/tensor_data.hpp"

namespace ffn {

/// What a run measured at one evaluation. Names are those of the metric catalogue.
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

enum class RunEnd { done, diverged, interrupted };

/// Why and where a run stopped being finite.
struct Divergence {
  std::int64_t step = 0;
  double loss = 0, learning_rate = 0, grad_norm = 0;
};

/// Everything that a run needs to go on as if it had never stopped. Random numbers need no state: they are functions of
/// the seed and the step.
struct Checkpoint {
  std::int64_t step = 0;
  std::map<std::string, double> numbers;  ///< counters and sums
  std::vector<TensorData> tensors;        ///< parameters and optimizer state, one row each
};

struct RunResult {
  RunEnd end = RunEnd::done;
  std::int64_t steps = 0;
  double train_seconds = 0;
  std::optional<Hit> hit;
  std::optional<Divergence> divergence;
  std::vector<TensorData> weights;              ///< torch.nn.Linear layout and names
  std::map<std::string, std::string> metadata;  ///< what using the weights needs beside the config: a text's "alphabet"
};

/// Runs of one shape that train in lockstep: they may differ in seed, learning rate, weight decay and dropout rate.
struct Cohort {
  std::vector<RunConfig> runs;
  std::vector<std::optional<Checkpoint>> resume;  ///< empty, or one per run; all at the same step
};

/// Receives what happens while a cohort trains. `run` counts within the cohort.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void evaluated(std::size_t run, const Evaluation& evaluation) = 0;
  /// Every now and then, at least once per evaluation; cheap to ignore. `loss` is the mean over the cohort's live runs.
  virtual void stepped(std::int64_t /*step*/, double /*loss*/) {}
  virtual void checkpointed(std::size_t run, const Checkpoint& checkpoint) = 0;
  virtual void finished(std::size_t run, const RunResult& result) = 0;
  /// Asked at least after every evaluation, and where steps are short every 20 ms or so; true makes the engine checkpoint every live run
  /// and finish it as interrupted.
  virtual bool stop_requested() { return false; }
};

struct SampleRequest {
  std::string prompt;
  double temperature = 1.0;   ///< 0 takes the most probable character
  std::int64_t top_k = 0;     ///< 0 keeps all
  std::int64_t length = 200;  ///< characters to write
  std::int64_t seed = 0;
};

struct EngineInfo {
  std::string compute;     ///< "fused": this program's own forward and backward passes
  std::string kernel_isa;  ///< of our own kernels
};

/// Trains. Everything crosses as plain structs; an engine never writes files and never logs by itself.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual EngineInfo info() const = 0;
  /// Trains to the end, or until stopped. Throws DataError, CheckpointError; std::invalid_argument if the runs do not form
  /// a cohort.
  virtual void train(const Cohort& cohort, TrainObserver& observer) = 0;
};

/// One figure of `ffn-train bench`, or several that belong together.
struct Measurement {
  std::string group;  ///< "product", "ffn" or "steps"
  std::string name;   ///< what was measured
  std::vector<std::pair<std::string, double>> values;
};

struct BenchRequest {
  std::vector<std::string> groups;  ///< of Measurement; empty: all
  double seconds = 0.3;             ///< to spend on each figure
  std::function<bool()> stop;       ///< asked between figures
};

enum class LogLevel { debug, info, warning };

struct LibTorchInfo {
  std::string version;
  std::string blas;  ///< library and core type, where it tells
};

/// What needs LibTorch: a shared library, opened on demand, because loading LibTorch costs 0.3 s and 160 MB.
class LibTorch {
 public:
  virtual ~LibTorch() = default;
  virtual LibTorchInfo info() const = 0;
  /// Where LibTorch's own warnings go.
  virtual void set_log(std::function<void(LogLevel, const std::string&)> log) = 0;
  /// Continues a prompt with a trained character model; `emit` gets the text piece by piece, prompt excluded.
  /// Throws CheckpointError with the list of differences if the weights do not fit the config.
  virtual void sample(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
                      const std::function<void(const std::string&)>& emit) = 0;
  /// Measures products, feed-forward layers and training steps; `emit` gets each result as it is there.
  virtual void bench(const BenchRequest& request, const std::function<void(const Measurement&)>& emit) = 0;
};

/// Opens the library next to the program (or where FFN_TRAIN_ENGINE says). Throws SystemError with the loader's message.
/// Loaded once per process; it lives until the process ends.
LibTorch& load_libtorch();

/// The symbol that the library exports; the text must equal the program's own, so that an old library is refused.
using CreateLibTorch = LibTorch* (*)(const char* interface_version);
inline constexpr const char* kCreateLibTorchSymbol = "ffn_create_libtorch";
inline constexpr const char* kInterfaceVersion = "ffn-libtorch 3";

}  // namespace ffn
