// A run's measurements, state and end, as trainer, store and comparison exchange them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/base/tensor_data.hpp"

namespace ffn {

/// A run's measurements at one evaluation. Names are those of the metric catalogue.
struct Evaluation {
  std::int64_t step = 0;    ///< optimizer steps done
  double time_s = 0;        ///< seconds of training so far, evaluation not counted
  std::int64_t tokens = 0;  ///< tokens (or vectors) trained on so far
  std::vector<std::pair<std::string, double>> metrics;
};

/// The first evaluation at which the target was reached.
struct Hit {
  std::int64_t step = 0;
  double time_s = 0;
  std::int64_t tokens = 0;
};

/// failed: of a program that ended without a result. Unlike a run that an error of ours ended, it is not begun again.
enum class RunEnd { done, diverged, interrupted, failed };

/// Why and where a run stopped being finite.
struct Divergence {
  std::int64_t step = 0;
  double loss = 0, learning_rate = 0, grad_norm = 0;
};

/// In Checkpoint::numbers: it was taken before the evaluation at its step.
inline constexpr const char* kEvaluationPending = "evaluation_pending";

/// Everything that a run needs to go on as if it had never stopped. Random numbers need no state: they are functions of
/// the seed and the step.
struct Checkpoint {
  std::int64_t step = 0;
  std::map<std::string, double> numbers;      ///< counters and sums
  std::vector<TensorData> tensors;            ///< parameters and optimizer state, one row each
  std::vector<std::string> computed_by = {};  ///< EngineInfo::text() of all that worked on it, one after the other
  bool is_evaluated() const { return numbers.count(kEvaluationPending) == 0; }
};

/// The weights of the evaluation that was best, of a run with keep: best. RunConfig::best_by() says by what.
struct BestWeights {
  std::int64_t step = 0;
  std::vector<TensorData> weights;
};

struct RunResult {
  RunEnd end = RunEnd::done;
  std::int64_t steps = 0;
  double train_seconds = 0;
  std::optional<Hit> hit;
  std::optional<Divergence> divergence;
  std::vector<TensorData> weights;              ///< torch.nn.Linear layout and names
  std::map<std::string, std::string> metadata;  ///< what using the weights needs beside the config: a text's "alphabet"
  std::vector<std::string> computed_by = {};    ///< as in Checkpoint; more than one: it was resumed under another engine
  std::optional<BestWeights> best = {};
  std::string reason = {};              ///< why it failed, or diverged without a Divergence; for a person
  std::vector<std::string> files = {};  ///< that a program left in the run's directory
};

}  // namespace ffn
