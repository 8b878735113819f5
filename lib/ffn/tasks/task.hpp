// What is learned, as tensors on the run axis. Every batch is a function of (run's data seed, step).
#pragma once

#include <map>
#include <memory>

#include "ffn/compat/torch.hpp"
#include "ffn/config/task_config.hpp"

namespace ffn {

struct Batch {
  torch::Tensor inputs;  ///< (R, B, T) int64 token ids or (R, B, width) float
  torch::Tensor labels;  ///< (R, B·T) int64 classes; negative where a position is not scored
};

/// Seeds of one run's data: which examples it trains on and on which it is validated.
struct DataSeeds {
  std::uint64_t train, validation;
};

class Task {
 public:
  virtual ~Task() = default;
  virtual TaskShape shape() const = 0;
  virtual Batch train_batch(std::int64_t step, std::int64_t batch_size) const = 0;
  /// The fixed validation set, (R, M, …) with M ≤ the number asked for.
  virtual Batch validation(std::int64_t max_examples) const = 0;
  /// What a user of the trained weights has to know ("alphabet" of a text).
  virtual std::map<std::string, std::string> metadata() const { return {}; }
};

/// Throws DataError for a text that cannot be used.
std::unique_ptr<Task> make_task(const TaskConfig& config, const std::vector<DataSeeds>& seeds);

}  // namespace ffn
