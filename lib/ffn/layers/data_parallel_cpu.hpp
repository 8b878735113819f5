// A training step of one run by several threads. Its batch is cut into parts whose number depends on the config alone; each part's
// gradient is computed by one thread, and they are added in an order that is always the same. So the bits of a run do not depend on
// how many threads there were.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "ffn/base/thread_team.hpp"
#include "ffn/layers/network_cpu.hpp"

namespace ffn::cpu {

/// A power of two, so many that a part has 256 rows (tokens) and half a billion FLOPs at least, 16 at most: below that, adding up
/// the gradients and waiting for each other would cost more than they are worth. 1 where dropout masks or capacities go by where a mixture
/// sent the tokens of the whole batch.
std::int64_t num_parts(const ModelConfig& model, const TaskShape& task, std::int64_t batch_size);

class DataParallelNetwork {
 public:
  /// `num_parts`: a power of two.
  DataParallelNetwork(const ModelConfig& model, const TaskShape& task, const Loss& loss, std::int64_t num_parts);

  const RowLayout& layout() const { return first().layout(); }
  std::int64_t num_parts() const { return num_parts_; }

  /// Network::step() in parts, by up to `threads` threads. The batch has an example for each part at least.
  Network::StepLoss step(std::size_t threads, const float* parameters, float* gradients, const Examples& batch, const DropoutKey& dropout);
  /// Sums over examples, without dropout, some thousand tokens at a time; in between go_on(share that is done) is asked, and false ends
  /// it without a result.
  std::optional<LossSums> evaluate(std::size_t threads, const float* parameters, const Examples& examples,
                                   const std::function<bool(double)>& go_on);
  /// Σ gradient²: in one go where there is one part, piece by piece otherwise.
  double sum_of_squares(std::size_t threads, const float* gradients);
  /// Calls work(begin, end) for pieces that make up a row of parameters.
  void over_row(std::size_t threads, const std::function<void(std::int64_t begin, std::int64_t end)>& work);

  /// For passes by one thread.
  Network& first() { return *networks_[0]; }
  const Network& first() const { return *networks_[0]; }

 private:
  Network& network(std::size_t index);
  void add_up(std::size_t threads, float* gradients);
  void share_totals();
  std::int64_t num_pieces() const;

  ModelConfig model_;
  TaskShape task_;
  Loss loss_;
  std::int64_t num_parts_;
  bool routes_;                                     ///< a mixture: all parts' forward passes come before any backward pass
  std::vector<std::unique_ptr<Network>> networks_;  ///< one per thread; where it routes one per part
  std::vector<std::vector<float>> gradients_;       ///< of the parts but the first
  std::vector<LossSums> sums_;
  std::vector<double> squares_;
  ThreadTeam team_;
};

}  // namespace ffn::cpu
