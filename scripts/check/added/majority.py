"""A task."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/task_config.hpp", before="using TaskConfig =\n    std::variant<", text='''\
/// Which of two symbols is the more frequent.
struct MajorityConfig {
  static constexpr const char* kKind = "majority";
  static constexpr const char* kDoc = "Which of -1 and +1 is the more frequent in a vector of them; a linear model can do it.";
  static constexpr Target kTarget = Target::classes;
  std::int64_t votes = 5;
  void describe(FieldVisitor& v) { v.integer({"votes", "length of the vector; an odd number has no draws"}, votes, between(std::int64_t{1}, 32)); }
};

'''),
    Part("lib/ffn/config/task_config.hpp", after="TextConfig, FunctionConfig", text=", MajorityConfig"),
    Part("lib/ffn/data/majority.hpp", text='''\
// Which of two symbols is the more frequent.
#pragma once

#include "ffn/base/random.hpp"
#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const MajorityConfig& c) { return {false, c.votes, 1, 2}; }

class MajorityTask final : public Task {
 public:
  MajorityTask(const MajorityConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(config) {}
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
  void write(RandomStream random, std::int64_t examples, const BatchPlace& to) const {
    for (std::int64_t i = 0; i < examples; ++i) {
      std::int64_t sum = 0;
      for (std::int64_t vote = 0; vote < config_.votes; ++vote) {
        const int x = random.below(2) == 0 ? -1 : 1;
        to.vectors[i * config_.votes + vote] = static_cast<float>(x);
        sum += x;
      }
      to.labels[i] = sum > 0;
    }
  }

  MajorityConfig config_;
};

}  // namespace ffn
'''),
    Part("lib/ffn/data/make_task.cpp", before='#include "ffn/data/sequence_xor.hpp"\n', text='#include "ffn/data/majority.hpp"\n'),
    Part("lib/ffn/data/make_task.cpp", before="  std::unique_ptr<Task> operator()(const TextConfig& c) const",
         forgotten=("lib/ffn/data/make_task.cpp", "MajorityConfig"), text='''\
  std::unique_ptr<Task> operator()(const MajorityConfig& c) const { return std::make_unique<MajorityTask>(c, seeds); }
'''),
    Part("tests/data/test_tasks_torch.cpp", before='TEST_CASE("text targets are the inputs moved by one', text='''\
TEST_CASE("majority labels are the sign of the sum", "[tasks]") {
  const auto batch = test::train_batch(*make_task(MajorityConfig{}, {{1, 2}}), 0, 500);
  CHECK(torch::equal(batch.inputs.sum(-1).gt(0).to(torch::kInt64), batch.labels));
}

'''),
]
