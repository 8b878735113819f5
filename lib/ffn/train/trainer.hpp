// The training loop of a cohort: R runs from one evaluation to the next, over whichever learner takes their steps.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "ffn/data/task.hpp"
#include "ffn/train/cohort.hpp"
#include "ffn/train/evaluator.hpp"
#include "ffn/train/layer_meter.hpp"
#include "ffn/train/learner.hpp"

namespace ffn {

/// Makes the learner of a cohort. The task outlives the learner.
using MakeLearner = std::function<std::unique_ptr<Learner>(const std::vector<RunConfig>& runs, const Task& task)>;

class Trainer {
 public:
  /// `computed_by` names the engine (EngineInfo::text()). Throws std::invalid_argument if the runs do not form a cohort,
  /// CheckpointError if a checkpoint does not fit.
  Trainer(const Cohort& cohort, TrainObserver& observer, const MakeLearner& make_learner, std::string computed_by);
  void train();

 private:
  /// The best evaluation so far of a run with keep: best.
  struct Best {
    double value = NAN;
    std::int64_t step = 0;
    std::vector<float> row;
  };
  /// The accumulated state of one run.
  struct RunState {
    double loss_sum = 0, grad_norm = 0;   // since the last evaluation; of the last step
    AuxiliaryValues auxiliary_sums = {};  // since the last evaluation
    std::int64_t loss_count = 0;
    double seconds = 0;                  // of training, evaluation not counted
    double last_loss = 0, val_loss = 0;  // of the last step, of the last evaluation
    std::optional<Hit> hit;
    std::int64_t times_met = 0;            // evaluations in a row, up to the last, that met the target
    std::vector<std::string> computed_by;  // one hand after the other
    std::optional<Best> best;
  };

  void initialise();
  void take_weights(std::size_t run, std::vector<float>& row);
  void restore(const std::vector<std::optional<Checkpoint>>& checkpoints);
  void restore_run(std::size_t run, Checkpoint saved);
  void restore_best(std::size_t run, Checkpoint& saved);

  std::int64_t steps_at_once(std::int64_t step) const;
  void advance(std::int64_t begin, std::int64_t end);
  void add_report(std::size_t run, std::int64_t step, const StepReport& report);
  bool evaluate(std::int64_t step);
  void take_best(std::size_t run, const Evaluation& evaluation);
  void checkpoint(std::int64_t step, bool evaluated = true);
  void checkpoint_run(std::size_t run, std::int64_t step, bool evaluated);
  void keep_states();
  void interrupt(std::int64_t step, bool evaluated);
  void finish(std::size_t run, std::int64_t step, RunEnd end, std::optional<Divergence> divergence = {});
  void finish_trained(std::size_t run, std::int64_t step);

  bool any_live() const;
  double learning_rate(std::size_t run) const;
  std::int64_t tokens_at(std::int64_t step) const;
  std::vector<float> state_row(std::size_t run, std::size_t row) const;
  std::vector<std::pair<std::string, double>> metrics_of(std::size_t run, const LossSums& sums) const;
  void add_layers(std::size_t run, std::vector<std::pair<std::string, double>>& metrics) const;

  std::vector<RunConfig> runs_;
  TrainObserver& observer_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<LayerMeter> layers_;  ///< where layer metrics are logged
  std::string computed_by_;
  std::vector<AuxiliaryLoss> auxiliary_;
  Evaluator evaluator_;
  std::vector<RunState> states_;
  LiveRuns live_;
  std::vector<RunSteps> steps_;
  std::vector<LossSums> sums_;
  std::int64_t start_ = 0;
  bool start_evaluated_ = true;  ///< false: the run was stopped during the evaluation at that step
  double step_seconds_ = 0;      ///< of the whole cohort, lately
};

}  // namespace ffn
