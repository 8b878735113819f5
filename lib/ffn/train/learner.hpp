// The layer beneath the training loop: the parameters of a cohort's runs, their steps and their evaluation. There are two learners,
// the CPU step (train/cpu_learner.hpp) and LibTorch's autograd (train/learner_torch.hpp), and one loop (train/trainer.hpp).
// Torch-free.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ffn/base/parameters.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/data/task.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn {

/// Measurements of one step of one run, before its update.
struct StepReport {
  double loss = 0;                 ///< mean over the scored positions, auxiliary losses left out
  AuxiliaryValues auxiliary = {};  ///< in the order of auxiliary_losses()
  double grad_norm = 0;            ///< of the whole gradient, before clipping
};

/// The steps that one run took in a row.
struct RunSteps {
  std::vector<StepReport> reports;  ///< in order; ends with the first that is not finite, by which nothing was updated
  double seconds = 0;               ///< that they took; the runs of a stack share theirs evenly
};

/// Which runs of a cohort still train.
using LiveRuns = std::vector<char>;

/// Every run's numbers depend on its config and its state alone, never on its neighbours. Runs count within the cohort.
class Learner {
 public:
  virtual ~Learner() = default;

  /// The place of each parameter in a run's row; weights are drawn and exported by it.
  virtual const RowLayout& layout() const = 0;
  /// The rows that make up a run's state, each of layout().width() floats: "parameters" first, then "optimizer.…".
  virtual std::vector<std::string> state_names() const = 0;
  virtual void read_state(std::size_t run, std::size_t row, float* values) const = 0;
  virtual void write_state(std::size_t run, std::size_t row, const float* values) = 0;

  /// Takes the steps begin … end - 1 of every live run. `out` has one entry per run; those of the others stay empty.
  virtual void advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) = 0;
  /// Sums over each live run's validation set, without dropout. `out` has one entry per run. Every now and then go_on(share that is done)
  /// is asked; after a false one it returns false, and `out` means nothing.
  virtual bool evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on = {}) = 0;

  /// Outputs (count·T, classes) of run 0, without dropout; of token ids T is at most the task's.
  virtual std::vector<float> outputs(const ExampleSet& examples) = 0;
};

}  // namespace ffn
