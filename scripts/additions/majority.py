"""A task."""
from parts import Part

PARTS = [
    Part("lib/ffn/config/task_config.hpp", before="using TaskConfig = std::variant<", text='''\
/// Which of two symbols is the more frequent.
struct MajorityConfig {
  static constexpr const char* kKind = "majority";
  static constexpr const char* kDoc = "Which of -1 and +1 is the more frequent in a vector of them; a linear model can do it.";
  std::int64_t votes = 5;
  void describe(FieldVisitor& v);
};

'''),
    Part("lib/ffn/config/task_config.hpp", after="using TaskConfig = std::variant<XorConfig, SequenceXorConfig, TextConfig", text=", MajorityConfig"),
    Part("lib/ffn/config/task_config.cpp", before="void TextConfig::describe(FieldVisitor& v) {\n", text='''\
void MajorityConfig::describe(FieldVisitor& v) {
  v.integer({"votes", "length of the vector; an odd number has no draws"}, votes, between(std::int64_t{1}, 32));
}

'''),
    Part("lib/ffn/tasks/majority.hpp", text='''\
// Which of two symbols is the more frequent.
#pragma once

#include "ffn/data/task.hpp"

namespace ffn {

inline TaskShape shape_of(const MajorityConfig& c) { return {false, c.votes, 1, 2}; }

class MajorityTask final : public Task {
 public:
  MajorityTask(const MajorityConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(config) {}
  TaskShape shape() const override { return shape_of(config_); }
  void write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const override;
  ExampleSet validation(std::int64_t max_examples) const override;

 private:
  MajorityConfig config_;
};

}  // namespace ffn
'''),
    Part("lib/ffn/tasks/majority.cpp", text='''\
#include "ffn/tasks/majority.hpp"

#include "ffn/base/random.hpp"

namespace ffn {

namespace {

void write(const MajorityConfig& config, RandomStream random, std::int64_t examples, const BatchPlace& to) {
  for (std::int64_t i = 0; i < examples; ++i) {
    std::int64_t sum = 0;
    for (std::int64_t vote = 0; vote < config.votes; ++vote) {
      const int x = random.below(2) == 0 ? -1 : 1;
      to.vectors[i * config.votes + vote] = static_cast<float>(x);
      sum += x;
    }
    to.labels[i] = sum > 0;
  }
}

}  // namespace

void MajorityTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  write(config_, {seeds(run).train, static_cast<std::uint64_t>(step)}, batch_size, to);
}

ExampleSet MajorityTask::validation(std::int64_t max_examples) const {
  ExampleSet set = empty_set(max_examples);
  for (std::int64_t r = 0; r < num_runs(); ++r) write(config_, {seeds(static_cast<std::size_t>(r)).validation, 0}, max_examples, place(set, r));
  return set;
}

}  // namespace ffn
'''),
    Part("lib/ffn/data/make_task.cpp", before='#include "ffn/data/sequence_xor.hpp"\n', text='#include "ffn/tasks/majority.hpp"\n'),
    Part("lib/ffn/data/make_task.cpp", before="  std::unique_ptr<Task> operator()(const TextConfig& c) const",
         forgotten=("lib/ffn/data/make_task.cpp", "MajorityConfig"), text='''\
  std::unique_ptr<Task> operator()(const MajorityConfig& c) const { return std::make_unique<MajorityTask>(c, seeds); }
'''),
    Part("lib/ffn/CMakeLists.txt", before="data/make_task.cpp ", text="tasks/majority.cpp "),
    Part("tests/data/test_tasks_torch.cpp", before='TEST_CASE("text targets are the inputs moved by one', text='''\
TEST_CASE("majority labels are the sign of the sum", "[tasks]") {
  const auto batch = test::train_batch(*make_task(MajorityConfig{}, {{1, 2}}), 0, 500);
  CHECK(torch::equal(batch.inputs.sum(-1).gt(0).to(torch::kInt64), batch.labels));
}

'''),
]
