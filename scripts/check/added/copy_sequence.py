"""A task of sequences."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/task_config.hpp", before="/// A function of random inputs, as a formula: classes (\"label\") or numbers (\"target\").\n", text='''\
/// The second half of a sequence is its first half.
struct CopySequenceConfig {
  static constexpr const char* kKind = "copy_sequence";
  static constexpr const char* kDoc = "Random symbols, then the same once more; the second half is scored. Attention has to look back half a sequence.";
  static constexpr Target kTarget = Target::classes;
  std::int64_t symbols = 4, half = 4;
  void describe(FieldVisitor& v) {
    v.integer({"symbols", "how many there are"}, symbols, between(std::int64_t{2}, 1024));
    v.integer({"half", "length of a half"}, half, between(std::int64_t{1}, 2048));
  }
};

'''),
    Part("lib/ffn/config/task_config.hpp", after="std::variant<XorConfig, ", text="CopySequenceConfig, "),
    Part("lib/ffn/data/copy_sequence.hpp", text='''\
// The second half of a sequence is its first half.
#pragma once

#include "ffn/base/random.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const CopySequenceConfig& c) { return {true, c.symbols, 2 * c.half - 1, c.symbols}; }

class CopySequenceTask final : public Task {
 public:
  CopySequenceTask(const CopySequenceConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(config) {}
  TaskShape shape() const override { return shape_of(config_); }
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override {
    write({seeds(run).train, static_cast<std::uint64_t>(step)}, batch_size, to);
  }
  ExampleSet validation(std::int64_t max_examples) const override {
    ExampleSet set = empty_set(max_examples);
    for (std::int64_t r = 0; r < num_runs(); ++r) write({seeds(static_cast<std::size_t>(r)).validation, 0}, max_examples, place(set, r));
    return set;
  }

 private:
  // Inputs: all symbols but the last; labels: all but the first, those of the first half not scored.
  void write(RandomStream random, std::int64_t examples, const BatchPlace& to) const {
    const std::int64_t half = config_.half, length = 2 * half - 1;
    std::vector<std::int64_t> symbols(static_cast<std::size_t>(half));
    for (std::int64_t i = 0; i < examples; ++i) {
      for (auto& symbol : symbols) symbol = random.below(static_cast<std::uint32_t>(config_.symbols));
      for (std::int64_t t = 0; t < length; ++t) {
        to.tokens[i * length + t] = symbols[static_cast<std::size_t>(t % half)];
        to.labels[i * length + t] = t + 1 < half ? -1 : symbols[static_cast<std::size_t>((t + 1) % half)];
      }
    }
  }

  CopySequenceConfig config_;
};

}  // namespace ffn
'''),
    Part("lib/ffn/data/make_task.cpp", before='#include "ffn/data/sequence_xor.hpp"\n', text='#include "ffn/data/copy_sequence.hpp"\n'),
    Part("lib/ffn/data/make_task.cpp", before="  std::unique_ptr<Task> operator()(const XorConfig& c) const",
         forgotten=("lib/ffn/data/make_task.cpp", "CopySequenceConfig"), text='''\
  std::unique_ptr<Task> operator()(const CopySequenceConfig& c) const { return std::make_unique<CopySequenceTask>(c, seeds); }
'''),
]
