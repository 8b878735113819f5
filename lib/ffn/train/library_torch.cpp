// LibTorch's side of the boundary: the shared library that load.cpp opens.
#include <cstring>
#include <sstream>

#include "ffn/base/error.hpp"
#include "ffn/layers/compat_torch.hpp"
#include "ffn/train/bench_torch.hpp"
#include "ffn/train/devices.hpp"
#include "ffn/train/learner_torch.hpp"
#include "ffn/train/libtorch.hpp"
#include "ffn/train/verify_torch.hpp"

// OpenBLAS's thread pool does not follow OpenMP's setting. Weak: another BLAS has no such function.
extern "C" {
__attribute__((weak)) void openblas_set_num_threads(int);
__attribute__((weak)) char* openblas_get_config();
__attribute__((weak)) char* openblas_get_corename();
}

namespace ffn {
namespace {

// c10::Error::what() is a page of addresses; its first part says what happened.
template <class F>
auto readable(const F& f) {
  try {
    return f();
  } catch (const c10::Error& error) {
    throw SystemError(std::string("LibTorch: ") + error.what_without_backtrace());
  }
}

// "cuda" without a number is dealt out: the workers of a study share the GPUs.
torch::Device device_of(const std::string& name, std::size_t worker) {
  if (name == "cpu") return torch::kCPU;
  const auto count = num_gpus();
  if (count == 0)
    throw UsageError("device " + name + ": LibTorch " TORCH_VERSION " sees no GPU here",
                     "use --device cpu, or build against a LibTorch with CUDA (the README says how) on a machine with a GPU");
  const auto index = name == "cuda" ? static_cast<std::int64_t>(worker) % count : std::stoll(name.substr(5));
  if (index >= count)
    throw UsageError("device " + name + ": there are " + std::to_string(count) + " GPUs here, numbered from 0", "use --device cuda");
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

// The same bits on every start: fixed algorithms, and full float32 products unless TF32 was asked for.
void set_up_gpu(bool tf32) {
  set_deterministic();
  set_tf32(tf32);
}

using Log = std::function<void(LogLevel, const std::string&)>;

/// A learner whose errors a person can read, and that says once how its steps run.
class ReadableLearner final : public Learner {
 public:
  ReadableLearner(std::unique_ptr<TorchLearner> learner, Log log) : learner_(std::move(learner)), log_(std::move(log)) {}
  const RowLayout& layout() const override { return learner_->layout(); }
  std::vector<std::string> state_names() const override { return learner_->state_names(); }
  void read_state(std::size_t run, std::size_t row, float* values) const override {
    readable([&] { learner_->read_state(run, row, values); });
  }
  void write_state(std::size_t run, std::size_t row, const float* values) override {
    readable([&] { learner_->write_state(run, row, values); });
  }
  void advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) override {
    readable([&] { learner_->advance(begin, end, live, out); });
    if (said_ || !log_ || !learner_->on_gpu()) return;
    said_ = true;
    const auto& why_not = learner_->not_captured();
    if (why_not.empty()) log_(LogLevel::debug, "steps are replayed from a captured CUDA graph");
    else if (learner_->waits()) log_(LogLevel::debug, "steps run one operation at a time: " + why_not);
    else log_(LogLevel::warning, "steps run one operation at a time; they could not be captured as a CUDA graph: " + why_not);
  }
  bool evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on) override {
    return readable([&] { return learner_->evaluate(live, out, go_on); });
  }
  std::vector<float> outputs(const ExampleSet& examples) override {
    return readable([&] { return learner_->outputs(examples); });
  }

 private:
  std::unique_ptr<TorchLearner> learner_;
  Log log_;
  bool said_ = false;
};

TorchOptions options_for(const RunConfig& config, const TaskShape& shape, std::size_t worker) {
  TorchOptions options;
  options.device = device_of(config.compute.device, worker);
  if (options.device.is_cuda()) {
    set_up_gpu(config.compute.precision == "tf32");
    options.stack_width = stack_width(config, shape, gpu_bytes(options.device.index()));
  }
  return options;
}

class LoadedLibTorch final : public LibTorch {
 public:
  LoadedLibTorch() {
    // One worker per core, one thread per worker; results then do not depend on the machine's load either.
    at::set_num_threads(1);
    at::set_num_interop_threads(1);
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    // Adam's second moment of a converged run sinks into subnormal numbers, which some processors compute slowly.
    at::globalContext().setFlushDenormal(true);
  }

  LibTorchInfo info() const override {
    std::string blas = "LibTorch's own";
    if (openblas_get_config) {
      std::istringstream words(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
      std::string name, version;
      words >> name >> version;
      blas = name + " " + version;
      if (openblas_get_corename) blas += std::string(" (") + openblas_get_corename() + ")";
    }
    return {TORCH_VERSION, blas, built_with_cuda()};
  }

  void set_log(std::function<void(LogLevel, const std::string&)> log) override {
    log_ = log;
    route_torch_warnings([log = std::move(log)](const std::string& text) {
      // Parameters are views of one row per run, so their gradients are strided on purpose.
      const bool expected = text.find("gradient layout contract") != std::string::npos;
      log(expected ? LogLevel::debug : LogLevel::warning, text);
    });
  }

  std::unique_ptr<Learner> make_learner(const std::vector<RunConfig>& runs, const Task& task, std::size_t worker) override {
    return readable([&] {
      return std::make_unique<ReadableLearner>(std::make_unique<TorchLearner>(runs, task, options_for(runs.at(0), task.shape(), worker)),
                                               log_);
    });
  }

  std::string device_text(const std::string& device, std::size_t worker) override {
    return readable([&] {
      const auto found = device_of(device, worker);
      return found.is_cuda() ? "cuda (" + gpu_name(found.index()) + ")" : std::string("cpu");
    });
  }

  VerifyResult verify(const RunConfig& config, const VerifyRequest& request) override {
    return readable([&] {
      if (config.compute.on_cpu() && config.compute.precision != "bfloat16") return verify_engines(config, request);
      const auto options = options_for(config, task_shape(config.task), 0);
      auto result = verify_engines(config, request, &options);
      result.device = device_text(config.compute.device, 0);
      return result;
    });
  }

  void bench(const BenchRequest& request, const std::function<void(const Measurement&)>& emit) override {
    readable([&] {
      const auto device = device_of(request.compute.device, 0);
      if (device.is_cuda()) set_up_gpu(request.compute.precision == "tf32");
      run_bench(request, device, emit);
    });
  }

 private:
  Log log_;
};

}  // namespace
}  // namespace ffn

extern "C" __attribute__((visibility("default"))) ffn::LibTorch* ffn_create_libtorch(const char* interface_version) {
  if (std::strcmp(interface_version, ffn::kInterfaceVersion) != 0) return nullptr;
  return new ffn::LoadedLibTorch;  // lives until the process ends: tearing LibTorch down earlier gains nothing
}
