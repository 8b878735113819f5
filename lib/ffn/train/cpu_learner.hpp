// The fast side: a cohort's runs trained by the CPU network (layers/network_cpu.hpp), one run after the other. Torch-free.
#pragma once

#include "ffn/config/run_config.hpp"
#include "ffn/data/task.hpp"
#include "ffn/layers/data_parallel_cpu.hpp"
#include "ffn/train/cohort.hpp"
#include "ffn/train/learner.hpp"
#include "ffn/train/optimizer.hpp"
#include "ffn/train/rows.hpp"

namespace ffn {

class CpuLearner final : public Learner {
 public:
  /// Runs of one cohort. Parameters and optimizer state start at zero. The task must outlive it. Without
  /// compute.threads and `threads` one thread works.
  CpuLearner(const std::vector<RunConfig>& runs, const Task& task, ThreadCount threads = {});

  const RowLayout& layout() const override { return network_.layout(); }
  std::int64_t num_parts() const { return network_.num_parts(); }  ///< of a step
  std::vector<std::string> state_names() const override;
  void read_state(std::size_t run, std::size_t row, float* values) const override;
  void write_state(std::size_t run, std::size_t row, const float* values) override;
  void advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) override;
  bool evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on = {}) override;
  std::vector<float> outputs(const ExampleSet& examples) override;

  /// The loss of run r on its batch of a step; the gradient is in gradient() until the next call.
  cpu::Network::StepLoss loss(std::size_t run, std::int64_t step);
  const float* gradient() const { return gradient_.data(); }  ///< (P)

 private:
  /// One run's own settings.
  struct Run {
    double dropout_rate = 0;
    std::uint64_t dropout_seed = 0;
  };
  std::size_t threads() const;
  StepReport take_step(std::size_t run, std::int64_t step);
  std::optional<LossSums> evaluate_run(std::size_t run, const std::function<bool(double)>& go_on);
  const Rows& state_rows(std::size_t row) const;

  const Task& task_;
  TaskShape shape_;
  TrainConfig train_;
  cpu::DataParallelNetwork network_;
  std::vector<cpu::Router*> routers_;  ///< of the first network
  bool shares_router_;                 ///< all blocks have one: its buffers move once, by what all of them counted
  Rows parameters_;
  RowOptimizer optimizer_;
  ExampleSet validation_, batch_;
  std::vector<Run> runs_;
  std::vector<float> gradient_;
  std::optional<std::int64_t> fixed_threads_;
  ThreadCount ask_threads_;
  std::size_t threads_ = 1;  ///< for the steps at hand
};

}  // namespace ffn
