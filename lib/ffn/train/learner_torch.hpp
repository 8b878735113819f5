// The open side: a cohort's runs as one program of LibTorch's modules on the run axis, trained by LibTorch's autograd, on any
// device. A layer that exists in LibTorch alone trains here.
#pragma once

#include <array>
#include <map>

#include "ffn/config/run_config.hpp"
#include "ffn/data/task.hpp"
#include "ffn/layers/network_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "ffn/train/cuda_graph_torch.hpp"
#include "ffn/train/device_batches_torch.hpp"
#include "ffn/train/learner.hpp"
#include "ffn/train/optimizer_torch.hpp"

namespace ffn {

struct TorchOptions {
  torch::Device device = torch::kCPU;
  torch::Dtype dtype = torch::kFloat32;
  bool host_free = false;        ///< ForwardContext::host_free, also on the CPU; a GPU always is
  bool own_kernels = false;      ///< modules::OwnKernels of every pass, batches and coefficients made on the device: what a GPU does
  bool bfloat16 = false;         ///< ProductPrecision of every pass; by the runs' compute.precision, and host_free then
  bool waits = false;            ///< ForwardContext::waits; of a mixture whose other experts' work would take longer
  std::int64_t stack_width = 0;  ///< rows of the stack; 0: as many as there are runs. More stand idle
};

class TorchLearner final : public Learner {
 public:
  /// Runs of one cohort. Parameters and optimizer state start at zero. The task must outlive it.
  TorchLearner(const std::vector<RunConfig>& runs, const Task& task, const TorchOptions& options);

  const RowLayout& layout() const override { return row_.layout(); }
  std::vector<std::string> state_names() const override;
  void read_state(std::size_t run, std::size_t row, float* values) const override;
  void write_state(std::size_t run, std::size_t row, const float* values) override;
  void advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) override;
  bool evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on = {}) override;
  std::vector<float> outputs(const ExampleSet& examples) override;

  /// Gradients (R, P) of the objective on the batch of `step`, parameters untouched; valid until the next call.
  const torch::Tensor& gradients_at(std::int64_t step);
  const torch::Tensor& parameters() const { return row_.values(); }  ///< (R, P)
  /// Every pass from now on leaves its routers' margins there, one after the other (ForwardContext::margins).
  void watch_routers(std::vector<torch::Tensor>* margins) { context_.margins = margins; }
  /// Whether steps are replayed from a captured graph, and if not, why: for the log.
  const std::string& not_captured() const { return not_captured_; }
  bool waits() const { return options_.waits; }
  bool on_gpu() const { return options_.device.is_cuda(); }

 private:
  /// The inputs and results of steps, on the device: (K, R, …).
  struct StagedSteps {
    StackBatch batch;
    torch::Tensor coefficients, numbers;  ///< (K, R, C), (K)
    torch::Tensor log;                    ///< (K, 2 + losses, R): report_ of each
  };

  void stage(std::int64_t begin, std::int64_t count);
  modules::NetworkOutput pass(const torch::Tensor& inputs, const modules::ForwardContext& context);
  std::vector<torch::Tensor> compute_gradients();
  void take_step();
  void take_steps(StagedSteps& from, std::int64_t begin, std::int64_t count);
  StepGraph* graph_of(std::int64_t count);
  std::int64_t replay(std::int64_t begin, std::int64_t left);
  std::vector<torch::Tensor> state_tensors() const;
  void silence(const LiveRuns& live);
  void collect(const torch::Tensor& log, const LiveRuns& live, double seconds, std::vector<RunSteps>& out) const;

  const Task& task_;
  TaskShape shape_;
  TrainConfig train_;
  std::size_t num_runs_;
  Loss run_loss_;
  std::vector<AuxiliaryLoss> auxiliary_losses_;
  TorchOptions options_;
  modules::Network network_;
  modules::ParameterRow row_;
  TensorOptimizer optimizer_;
  modules::ForwardContext context_;
  StackBatch validation_;
  std::int64_t validation_count_;

  DeviceBatches device_batches_;
  std::array<torch::Tensor, 2> bases_and_slopes_;  ///< of the coefficients, on the device
  StagedSteps staged_;
  StagedSteps window_;                              ///< of the steps of a graph, always in the same memory, so that they can be replayed
  StackBatch batch_;                                ///< of the step at work
  torch::Tensor coefficients_, alive_;              ///< (R, C), (R, 1) bool
  torch::Tensor report_, loss_, norm_, auxiliary_;  ///< (2 + losses, R) float64; its rows: (R), (R), (losses, R)
  std::map<std::int64_t, std::unique_ptr<StepGraph>> graphs_;  ///< by the number of steps in them
  mutable std::vector<torch::Tensor> host_state_;              ///< of a GPU's stack, from when it was asked for to the next change
  LiveRuns silenced_for_;
  std::string not_captured_;
  StepStream stream_;
};

}  // namespace ffn
