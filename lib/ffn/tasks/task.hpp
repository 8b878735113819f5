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

/// Where one run's batch is written: `tokens` (B, T) or `vectors` (B, width), and `labels` (B·T).
struct BatchPlace {
  std::int64_t* tokens = nullptr;
  float* vectors = nullptr;
  std::int64_t* labels = nullptr;
};

class Task {
 public:
  explicit Task(std::vector<DataSeeds> seeds) : seeds_(std::move(seeds)) {}
  virtual ~Task() = default;
  virtual TaskShape shape() const = 0;
  /// The batch that run `run` trains on at `step`.
  virtual void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const = 0;
  /// The same for all runs, as tensors.
  Batch train_batch(std::int64_t step, std::int64_t batch_size) const;
  /// The fixed validation set, (R, M, …) with M ≤ the number asked for.
  virtual Batch validation(std::int64_t max_examples) const = 0;
  /// What a user of the trained weights has to know ("alphabet" of a text).
  virtual std::map<std::string, std::string> metadata() const { return {}; }

 protected:
  const DataSeeds& seeds(std::size_t run) const { return seeds_[run]; }
  std::int64_t num_runs() const { return static_cast<std::int64_t>(seeds_.size()); }
  /// Tensors for R runs of so many examples.
  Batch empty_batch(std::int64_t examples) const;
  /// Run `run` of such tensors.
  static BatchPlace place(const Batch& batch, std::int64_t run);

 private:
  std::vector<DataSeeds> seeds_;
};

/// Throws DataError for a text that cannot be used.
std::unique_ptr<Task> make_task(const TaskConfig& config, const std::vector<DataSeeds>& seeds);

}  // namespace ffn
