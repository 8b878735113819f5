"""A task whose examples are a file of the user's."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/task_config.hpp", before="/// A function of random inputs, as a formula: classes (\"label\") or numbers (\"target\").\n", text='''\
/// Pairs of numbers in a file: x and y.
struct NumberFileConfig {
  static constexpr const char* kKind = "number_file";
  static constexpr const char* kDoc = "A file with two numbers a line, x and y: y as a function of x. Every fifth line is held out for validation.";
  static constexpr Target kTarget = Target::vectors;
  std::string pairs;
  void describe(FieldVisitor& v) {
    v.path({"pairs", "the file"}, pairs);
    v.require(!pairs.empty(), "pairs", "no file given; set task.pairs to one of yours");
  }
};

'''),
    Part("lib/ffn/config/task_config.hpp", after="SequenceXorConfig, ", text="NumberFileConfig, "),
    Part("lib/ffn/data/number_file.hpp", text='''\
// Pairs of numbers from a file.
#pragma once

#include <sstream>

#include "ffn/base/error.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/random.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const NumberFileConfig&) { return {false, 1, 1, 1, Target::vectors}; }

class NumberFileTask final : public Task {
 public:
  NumberFileTask(const NumberFileConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)) {
    const std::string text = text_of_file(config.pairs);
    hash_ = sha256_hex(text);
    std::istringstream numbers(text);
    for (float x = 0, y = 0; numbers >> x >> y;) (++lines_ % 5 == 0 ? held_out_ : trained_).push_back({x, y});
    if (held_out_.empty()) throw DataError(config.pairs + " has fewer than five lines of two numbers");
  }
  TaskShape shape() const override { return {false, 1, 1, 1, Target::vectors}; }
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override {
    RandomStream random(seeds(run).train, static_cast<std::uint64_t>(step));
    for (std::int64_t i = 0; i < batch_size; ++i) write(trained_[random.below(static_cast<std::uint32_t>(trained_.size()))], i, to);
  }
  ExampleSet validation(std::int64_t max_examples) const override {
    ExampleSet set = empty_set(std::min(max_examples, static_cast<std::int64_t>(held_out_.size())), /*shared=*/true);
    for (std::int64_t i = 0; i < set.count; ++i) write(held_out_[static_cast<std::size_t>(i)], i, place(set, 0));
    return set;
  }
  std::string data_hash() const override { return hash_; }

 private:
  struct Pair {
    float x, y;
  };
  static void write(const Pair& pair, std::int64_t i, const BatchPlace& to) {
    to.vectors[i] = pair.x;
    to.values[i] = pair.y;
  }

  std::string hash_;
  std::size_t lines_ = 0;
  std::vector<Pair> trained_, held_out_;
};

}  // namespace ffn
'''),
    Part("lib/ffn/data/make_task.cpp", before='#include "ffn/data/function.hpp"\n', text='#include "ffn/data/number_file.hpp"\n'),
    Part("lib/ffn/data/make_task.cpp", before="  std::unique_ptr<Task> operator()(const XorConfig& c) const",
         forgotten=("lib/ffn/data/make_task.cpp", "NumberFileConfig"), text='''\
  std::unique_ptr<Task> operator()(const NumberFileConfig& c) const { return std::make_unique<NumberFileTask>(c, seeds); }
'''),
    Part("tests/support/choices.hpp", before="template <class... Ts, class F>\nvoid each_alternative(", text='''\
inline NumberFileConfig usable(NumberFileConfig config) {
  config.pairs = (std::filesystem::temp_directory_path() / ("ffn-pairs-" + std::to_string(::getpid()) + ".txt")).string();
  std::ofstream file(config.pairs);
  for (int i = 0; i < 400; ++i) file << i % 37 / 37.0 << " " << i % 11 / 11.0 << "\\n";
  return config;
}

'''),
    Part("tests/support/choices.hpp", after="#pragma once\n", text="\n#include <unistd.h>\n\n#include <filesystem>\n#include <fstream>\n"),
]
