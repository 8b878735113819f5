// Metrics of a network's hidden layers and routers while it trains. The CPU network's forward pass computes them, whichever engine
// trains.
#pragma once

#include "ffn/data/task.hpp"
#include "ffn/layers/network_cpu.hpp"

namespace ffn {

/// An activation is near zero below this share of the root mean square of its layer's.
inline constexpr double kNearZero = 0.01;

/// Values of one block, or means of those with a layer. The metric catalogue (config/metrics.hpp) has names and definitions.
struct LayerValues {
  double zero_fraction = 0, near_zero_fraction = 0, dead_units = 0, effective_rank = 0;
  double max_violation = 0, load_entropy = 0, token_entropy = 0, dead_experts = 0, purity = 0;  ///< of mixtures; 0 without one
  bool has_layer = true;                                                                        ///< a block may have none
};

LayerValues mean_of(const std::vector<LayerValues>& blocks);

/// Measures the runs of a cohort on some tokens of their validation sets, always the same.
class LayerMeter {
 public:
  LayerMeter(const ModelConfig& model, const TaskShape& shape, const ExampleSet& validation);
  /// Block by block. parameters: the row of run `run`, as network.layout() has it.
  std::vector<LayerValues> measure(std::size_t run, const float* parameters);

 private:
  struct Tokens {
    std::vector<std::int64_t> tokens;
    std::vector<float> vectors;
    std::vector<std::int64_t> groups;  // of the examples, if the task says any
  };

  std::int64_t num_blocks_;
  std::vector<bool> has_layer_;
  TaskShape shape_;
  cpu::Network network_;
  std::int64_t count_;         ///< examples of each run
  std::vector<Tokens> shown_;  ///< one per run, or one for all
};

}  // namespace ffn
