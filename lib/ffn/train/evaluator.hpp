// The metrics of an evaluation, from the sums that either engine takes over the validation set.
#pragma once

#include "ffn/data/task.hpp"
#include "ffn/train/learner.hpp"

namespace ffn {

using MeasuredMetrics = std::vector<std::pair<const MetricRow*, double>>;

class Evaluator {
 public:
  /// On the task's validation set of at most so many examples; `ffn_parameters` of a model.
  Evaluator(const Task& task, std::int64_t max_examples, std::int64_t ffn_parameters);
  double loss(const LossSums& sums) const { return sums.loss / static_cast<double>(sums.scored); }
  /// Every metric of the outputs, in the order in which they are logged; a run logs some of them (is_logged()).
  MeasuredMetrics metrics(std::size_t run, const LossSums& sums) const;

 private:
  TaskShape shape_;
  double ffn_parameters_;
  std::vector<double> baseline_;         ///< of Task::constant_answer(), one per run; none where the task has none
  std::vector<double> frequency_loss_;   ///< of Task::class_frequencies(), likewise
  std::vector<double> target_unit_;      ///< one per run
  std::vector<double> bytes_;            ///< of a validated token; one per run, or one for all; none of tasks without text
  std::vector<double> compressed_;       ///< of Task::compressed(), likewise
  std::vector<double> target_variance_;  ///< mean over the targets' numbers; one per run, or one for all; none for classes
};

}  // namespace ffn
