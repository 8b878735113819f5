#include "ffn/train/engine.hpp"

#include "ffn/base/error.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/kernels/subnormals.hpp"
#include "ffn/train/cpu_learner.hpp"
#include "ffn/train/devices.hpp"
#include "ffn/train/libtorch.hpp"

namespace ffn {

EngineChoice choose_engine(const RunConfig& config) {
  const std::string lacks = not_covered(config);
  const std::string& engine = config.compute.engine;
  if (engine == "torch") return {false, "asked for"};
  if (engine == "cpu") {
    if (!lacks.empty()) throw UsageError("the cpu engine does not cover " + lacks, "leave compute.engine at auto, or set it to torch");
    return {true, "asked for"};
  }
  if (!config.compute.on_cpu()) return {false, "the device is " + config.compute.device};
  if (!lacks.empty()) return {false, "the cpu engine does not cover " + lacks};
  return {true, "it covers the model on the CPU"};
}

std::unique_ptr<Learner> make_learner(const std::vector<RunConfig>& runs, const Task& task, std::size_t worker, ThreadCount threads) {
  if (choose_engine(runs.at(0)).cpu) return std::make_unique<CpuLearner>(runs, task, std::move(threads));
  return load_libtorch().make_learner(runs, task, worker);
}

namespace {

class TrainingEngine final : public Engine {
 public:
  EngineInfo info(const RunConfig& config) override {
    if (config.command) return {"command", config.command->arguments({})[0], "", "", "asked for"};
    const auto choice = choose_engine(config);
    EngineInfo out{choice.name(), "cpu", kernel_isa(), "", choice.reason};
    if (choice.cpu) return out;
    auto& libtorch = load_libtorch();
    const auto versions = libtorch.info();
    out.libtorch = versions.version + (config.compute.on_cpu() ? ", " + versions.blas : "");
    if (config.compute.precision == "bfloat16" || (config.compute.precision == "tf32" && !config.compute.on_cpu()))
      out.libtorch += ", " + config.compute.precision;
    out.device = libtorch.device_text(config.compute.device, worker_);
    return out;
  }

  void prepare(const RunConfig& config) override {
    if (config.command) return;  // it is another program's
    if (choose_engine(config).cpu) return;
    const auto libtorch = load_libtorch().info();
    if (config.compute.on_cpu() || (libtorch.cuda && !visible_gpus().empty())) return;
    throw UsageError("device " + config.compute.device + ": " +
                         (libtorch.cuda ? "LibTorch " + libtorch.version + " has CUDA, but the driver sees no GPU here"
                                        : "LibTorch " + libtorch.version + " sees no GPU here: it was built without CUDA"),
                     "use --device cpu, or build against a LibTorch with CUDA (the README says how) on a machine with a GPU");
  }

  void set_worker(std::size_t index) override { worker_ = index; }
  void set_threads(ThreadCount threads) override { threads_ = std::move(threads); }

  void train(const Cohort& cohort, TrainObserver& observer) override {
    flush_subnormals();
    const auto learner = [this](const std::vector<RunConfig>& runs, const Task& task) {
      return make_learner(runs, task, worker_, threads_);
    };
    const std::string by = cohort.runs.empty() ? "" : info(cohort.runs[0]).text();
    Trainer(cohort, observer, learner, by).train();
  }

 private:
  std::size_t worker_ = 0;
  ThreadCount threads_;
};

}  // namespace

Engine& training_engine() {
  static TrainingEngine engine;
  return engine;
}

}  // namespace ffn
