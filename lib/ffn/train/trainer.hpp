// The training loop: a cohort of R runs, one program.
#pragma once

#include <chrono>

#include "ffn/engine/interface.hpp"
#include "ffn/nn/network.hpp"
#include "ffn/nn/parameter_row.hpp"
#include "ffn/tasks/task.hpp"
#include "ffn/train/optimizer.hpp"

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
    double seconds_before = 0;  // trained in earlier sessions
    double val_loss = 0;        // of the last evaluation
    std::optional<Hit> hit;
    bool live = true;
  };

  void one_step(std::int64_t step);
  void update(std::int64_t r, std::int64_t step, double loss, double balance);
  void evaluate(std::int64_t step);
  void checkpoint(std::int64_t step);
  void restore(const std::vector<std::optional<Checkpoint>>& checkpoints);
  void finish(std::int64_t r, std::int64_t step, RunEnd end, std::optional<Divergence> divergence = {});
  bool any_live() const;
  double train_seconds(std::size_t r) const;
  std::int64_t tokens_at(std::int64_t step) const;
  std::vector<std::pair<std::string, double>> metrics_of(std::size_t r, double val_loss, double val_accuracy) const;

  std::vector<RunConfig> runs_;
  TrainObserver& observer_;
  std::unique_ptr<Task> task_;
  nn::Network network_;
  nn::ParameterRow row_;
  RowOptimizer optimizer_;
  Batch validation_;
  nn::ForwardContext context_;
  std::vector<RunState> states_;
  std::int64_t start_ = 0;
  double evaluation_seconds_ = 0;  ///< of this session, not counted as training
  Clock::time_point began_;
};

}  // namespace ffn
