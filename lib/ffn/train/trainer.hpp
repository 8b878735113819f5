// The training loop of a cohort: R runs in lockstep from one evaluation to the next, each computed by itself.
#pragma once

#include <chrono>

#include "ffn/engine/interface.hpp"
#include "ffn/tasks/task.hpp"
#include "ffn/train/fused_step.hpp"
#include "ffn/train/optimizer.hpp"
#include "ffn/train/rows.hpp"

namespace ffn {

class Trainer {
 public:
  /// Throws ConfigError if the runs do not form a cohort, CheckpointError if a checkpoint does not fit.
  Trainer(const Cohort& cohort, TrainObserver& observer);
  void train();

 private:
  using Clock = std::chrono::steady_clock;

  /// What one run has accumulated.
  struct RunState {
    double loss_sum = 0, balance_sum = 0, grad_norm = 0;  // since the last evaluation; the norm of the last step
    std::int64_t loss_count = 0;
    double seconds = 0;                  // of training, evaluation not counted
    double last_loss = 0, val_loss = 0;  // of the last step, of the last evaluation
    std::optional<Hit> hit;
    bool live = true;
    double dropout_rate = 0;
    std::uint64_t dropout_seed = 0;
  };

  /// Steps from `begin` to `end` of every live run; runs know nothing of each other, so each takes its steps in a row.
  void advance(std::int64_t begin, std::int64_t end);
  void advance_run(std::int64_t r, std::int64_t begin, std::int64_t end);
  std::int64_t steps_at_once(std::int64_t step) const;
  void update(std::int64_t r, std::int64_t step, const fused::Network::Loss& loss);
  void evaluate(std::int64_t step);
  void checkpoint(std::int64_t step);
  void restore(const std::vector<std::optional<Checkpoint>>& checkpoints);
  void finish(std::int64_t r, std::int64_t step, RunEnd end, std::optional<Divergence> divergence = {});
  bool any_live() const;
  std::int64_t tokens_at(std::int64_t step) const;
  std::vector<std::pair<std::string, double>> metrics_of(std::size_t r, double val_loss, double val_accuracy) const;

  std::vector<RunConfig> runs_;
  TrainObserver& observer_;
  std::unique_ptr<Task> task_;
  FusedStep step_;
  RowLayout layout_;
  Rows parameters_;
  RowOptimizer optimizer_;
  ExampleSet validation_;
  std::vector<RunState> states_;
  std::int64_t start_ = 0;
  double step_seconds_ = 0;                     ///< of the whole cohort, lately
  std::optional<Clock::time_point> run_start_;  ///< while a run takes its steps
};

}  // namespace ffn
