// A task gives batches and a validation set. Every batch is a function of (run's data seed, step).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "ffn/config/task_config.hpp"

namespace ffn {

struct FunctionTaskSpec;
struct SequenceTaskSpec;

/// Examples of all runs of a cohort: run after run, or once where every run has the same (`shared`).
struct ExampleSet {
  std::int64_t count = 0;  ///< examples per run
  bool shared = false;
  std::vector<std::int64_t> tokens;  ///< (R, count, T) ids, for tasks of tokens
  std::vector<float> vectors;        ///< (R, count, width), for the others
  std::vector<std::int64_t> labels;  ///< (R, count·T) classes, negative where a position is not scored; of a target of classes
  std::vector<float> values;         ///< (R, count·T, width), of a target of vectors
  std::vector<std::int64_t> groups;  ///< (R, count), of a task that says them
};

/// Seeds of one run's data: which examples it trains on and on which it is validated.
struct DataSeeds {
  std::uint64_t train, validation;
};

/// Destination of one run's batch: `tokens` (B, T) or `vectors` (B, width), and `labels` (B·T) or `values` (B·T, width).
struct BatchPlace {
  std::int64_t* tokens = nullptr;
  float* vectors = nullptr;
  std::int64_t* labels = nullptr;
  float* values = nullptr;
  std::int64_t* groups = nullptr;  ///< (B), where they are asked for
};

/// Batches that a device can draw by itself, as tensors, with the bits of Task::write_batch(). Each is a function of words of the run's
/// Philox streams.
struct DrawnPatterns {  ///< of XorTask: stream 4·step the patterns, 4·step + 1 their jitter, 4·step + 2 the flips of labels
  std::int64_t bits;
  double label_noise, jitter;
};
struct DrawnBits {  ///< of SequenceXorTask: stream `step`, a word for each 32 positions
  std::int64_t first_offset, second_offset;
};
struct DrawnSequences {  ///< of SequenceTask, by its formulas: stream `step`, a word for each position
  const SequenceTaskSpec* spec;
  const std::vector<std::vector<double>>* fixed;  ///< (R, alphabet)
};
struct DrawnInputs {  ///< of FunctionTask, by its formulas: so many streams per step and input
  static constexpr std::int64_t kPattern = 0, kJitter = 1, kNoise = 2, kFirstInput = 4;
  const FunctionConfig* config;
  const FunctionTaskSpec* spec;
  std::int64_t held_out;
  const std::vector<std::vector<std::uint32_t>>* patterns;  ///< of each run, those held out first
};
struct DrawnWindows {  ///< of TextTask: stream `step` has a window's number, from `before` on moved by `skipped`
  struct Run {
    std::int64_t starts, before, skipped;
  };
  std::vector<std::int64_t> text;
  std::vector<Run> runs;
};
using DrawnBatches = std::variant<std::monostate, DrawnPatterns, DrawnWindows, DrawnBits, DrawnSequences, DrawnInputs>;

class Task {
 public:
  explicit Task(std::vector<DataSeeds> seeds) : seeds_(std::move(seeds)) {}
  virtual ~Task() = default;
  virtual TaskShape shape() const = 0;
  /// The batch that run `run` trains on at `step`.
  virtual void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const = 0;
  /// How they can be drawn elsewhere; nothing where that is not written.
  virtual DrawnBatches drawn_batches() const { return {}; }
  std::uint64_t train_seed(std::size_t run) const { return seeds_[run].train; }
  /// The same as a set of its own.
  ExampleSet batch(std::size_t run, std::int64_t step, std::int64_t batch_size) const;
  /// The fixed validation set of at most so many examples per run.
  virtual ExampleSet validation(std::int64_t max_examples) const = 0;
  /// Room for so many examples of each run, or of all together.
  ExampleSet empty_set(std::int64_t examples, bool shared = false) const;
  /// Run `run` of such a set.
  BatchPlace place(ExampleSet& set, std::int64_t run) const;
  std::int64_t num_runs() const { return static_cast<std::int64_t>(seeds_.size()); }
  /// data_hash_now() of the very bytes that it read; empty for a task without data files.
  virtual std::string data_hash() const { return ""; }
  /// Facts that using the weights of run `run` requires ("alphabet" of a text).
  virtual std::map<std::string, std::string> metadata(std::size_t /*run*/) const { return {}; }
  /// The size of 1 of a target's numbers in its own unit, where the network is given it standardised.
  virtual double target_unit(std::size_t /*run*/) const { return 1; }
  /// The class or the number that answers best whatever the inputs, by what run `run` trains on; none where that is not measured.
  virtual std::optional<double> constant_answer(std::size_t /*run*/) const { return {}; }
  /// The share of each class in the training data of run `run`; empty if it is not measured.
  virtual std::vector<double> class_frequencies(std::size_t /*run*/) const { return {}; }
  /// Bits per byte that a compressor needs for what run `run` is validated on, where it knows what stands before; of a text.
  virtual std::optional<double> compressed(std::size_t /*run*/) const { return {}; }
  /// The row of example `example` of validation() in its file, counted from 1.
  virtual std::int64_t row_number(std::size_t /*run*/, std::int64_t example) const { return example + 1; }

 protected:
  const DataSeeds& seeds(std::size_t run) const { return seeds_[run]; }

 private:
  std::vector<DataSeeds> seeds_;
};

/// Shape of the task; reads its data files. Throws DataError.
TaskShape task_shape(const TaskConfig& config);

/// The same of a trained model, from Task::metadata(): reads no data. Throws CheckpointError where that lacks something.
TaskShape trained_shape(const TaskConfig& config, const std::map<std::string, std::string>& metadata);
/// The metadata's "alphabet" of a text's bytes; no alphabet of characters, which ascend, reads like this.
inline constexpr const char* kBytesAlphabet = "bytes";
bool has_bytes_alphabet(const std::map<std::string, std::string>& metadata);
/// A text's tokens, ascending, from Task::metadata(): characters, or 0 to 255. Throws CheckpointError for another task's.
std::vector<std::uint32_t> alphabet_of(const std::map<std::string, std::string>& metadata);

/// How many different inputs the network sees at most; none where they are not few enough to count.
std::optional<std::int64_t> distinct_inputs(const TaskConfig& config);

/// A description of the data, or what is known of the task's ceiling, for a person; empty for a task without either. Reads the data.
std::string describe_data(const TaskConfig& config);

/// Whether the network sees bits alone, as -1 and 1.
bool all_bits(const TaskConfig& config);

/// Throws DataError for a text that cannot be used.
std::unique_ptr<Task> make_task(const TaskConfig& config, const std::vector<DataSeeds>& seeds);

}  // namespace ffn
