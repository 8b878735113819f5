// The functions that need LibTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ffn/config/run_config.hpp"

namespace ffn {

class Learner;
class Task;

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
