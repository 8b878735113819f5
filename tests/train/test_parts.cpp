// A step in parts: its gradient is that of the whole batch, and its bits are the same for any number of threads.
#include <atomic>
#include <cmath>
#include <cstring>

#include "cases.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/thread_team.hpp"
#include "ffn/layers/data_parallel_cpu.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/cpu_learner.hpp"
#include "ffn/train/examples.hpp"
#include "support/catch_plain.hpp"
#include "support/worst.hpp"

using namespace ffn;

namespace {

// One batch of a task, and parameters off their starting values.
class Batch {
 public:
  Batch(const RunConfig& config, const RowLayout& layout)
      : task_(make_task(config.task, {{1, 2}})),
        shape_(task_->shape()),
        batch_(task_->batch(0, 3, config.train.batch_size)),
        parameters(static_cast<std::size_t>(layout.width())) {
    examples = examples_of(batch_, shape_, 0);
    layout.initialise(7, parameters.data());
    for (const auto& entry : layout.entries()) {
      for (auto i = static_cast<std::size_t>(entry.offset); i < static_cast<std::size_t>(entry.offset + entry.count); ++i)
        parameters[i] += 0.1f * std::sin(static_cast<float>(i));
    }
  }

 private:
  std::unique_ptr<Task> task_;
  TaskShape shape_;
  ExampleSet batch_;

 public:
  std::vector<float> parameters;
  cpu::Examples examples;
};

struct Result {
  cpu::Network::StepLoss loss;
  std::vector<float> gradient;
  double squares = 0;
};

// The second step on one buffer, so that what the first left shows.
Result step_in(std::int64_t parts, std::size_t threads, const RunConfig& config, const TaskShape& shape, std::uint64_t dropout_seed = 11) {
  cpu::DataParallelNetwork network(config.model, shape, config.loss(), parts);
  const Batch batch(config, network.layout());
  Result out;
  out.gradient.assign(static_cast<std::size_t>(network.layout().width()), 0);
  for (const std::int64_t step : {5, 3})
    out.loss = network.step(threads, batch.parameters.data(), out.gradient.data(), batch.examples,
                            {dropout_rate(config.model.ffn), dropout_seed, step});
  out.squares = network.sum_of_squares(threads, out.gradient.data());
  return out;
}

bool same_bits(const Result& a, const Result& b) {
  return std::memcmp(a.gradient.data(), b.gradient.data(), a.gradient.size() * sizeof(float)) == 0 && a.loss.mean == b.loss.mean &&
         a.loss.auxiliary == b.loss.auxiliary && a.squares == b.squares;
}

// `gradient` against `whole`'s, relative to the largest of them.
double largest_difference(const std::vector<float>& gradient, const Result& whole) {
  REQUIRE(gradient.size() == whole.gradient.size());
  test::Worst worst;
  float largest = 1e-3f;
  for (const float g : whole.gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < gradient.size(); ++i) worst.add(static_cast<double>(std::abs(gradient[i] - whole.gradient[i]) / largest));
  return worst.error();
}
// Sums of some hundred terms in another order. A part that is missing is off by more than 1e-2.
constexpr double kPartsTolerance = 2e-5;

// So much work that it is cut into parts by itself, and rows of several pieces.
RunConfig wide(bool mixture) {
  RunConfig config;
  config.task = test::small(TextConfig{});
  std::get<TextConfig>(config.task).context = 8;
  config.model.d_model = 64;
  config.model.blocks = 1;
  config.model.attention.emplace();
  config.model.norm.kind = "layer";
  config.model.residual = true;
  if (mixture) {
    MoeConfig ffn;
    ffn.d_ff = 1024;
    ffn.num_experts = 4;
    ffn.top_k = 2;
    config.model.ffn = ffn;
  } else {
    PositionwiseConfig ffn;
    ffn.d_ff = 1024;
    ffn.dropout = 0.1;
    config.model.ffn = ffn;
  }
  config.train.batch_size = 200;
  config.train.steps = 6;
  config.train.clip_norm = 0.5;
  return config;
}

// Masks of a mixture that drops, and its capacities, go by the whole batch.
bool can_be_cut(const RunConfig& config) {
  const auto* mixture = std::get_if<MoeConfig>(&config.model.ffn);
  return !mixture || (mixture->dropout == 0 && !mixture->capacity_factor);
}

}  // namespace

TEST_CASE("a step in parts has the gradient of the whole batch, and the same bits for 1, 2, 3 and 16 threads", "[train][parts]") {
  int checked = 0;
  for (auto& [name, config] : test::cpu_cases()) {
    if (auto* mixture = std::get_if<MoeConfig>(&config.model.ffn)) {
      mixture->dropout = 0;
      mixture->capacity_factor.reset();
    }
    REQUIRE(can_be_cut(config));
    const auto shape = make_task(config.task, {{1, 2}})->shape();
    const auto whole = step_in(1, 1, config, shape);
    for (const std::int64_t parts : {2, 4, 8}) {
      INFO(name << ", " << parts << " parts");
      const auto cut = step_in(parts, 1, config, shape);
      CHECK(std::abs(cut.loss.mean - whole.loss.mean) < 1e-6);
      CHECK(std::abs(cut.loss.auxiliary[0] - whole.loss.auxiliary[0]) < 1e-6);
      CHECK(cut.squares == Approx(whole.squares).epsilon(1e-4));
      CHECK(largest_difference(cut.gradient, whole) < kPartsTolerance);
      for (const std::size_t threads : {2, 3, 16}) CHECK(same_bits(step_in(parts, threads, config, shape), cut));
      ++checked;
    }
  }
  CHECK(checked > 300);
}

TEST_CASE("the number of parts goes by the config alone", "[train][parts]") {
  ModelConfig model;
  PositionwiseConfig ffn;
  ffn.expansion = 4;
  model.ffn = ffn;
  model.d_model = 128;
  model.blocks = 4;
  TaskShape text;
  text.tokens = true;
  text.input_width = text.num_classes = 90;
  text.sequence_length = 64;
  CHECK(cpu::num_parts(model, text, 12) == 2);
  CHECK(cpu::num_parts(model, text, 128) == 16);
  CHECK(cpu::num_parts(model, text, 4000) == 16);
  CHECK(cpu::num_parts(model, text, 1) == 1);
  model.d_model = 8;
  CHECK(cpu::num_parts(model, text, 12) == 1);  // too little work to share
  MoeConfig mixture;
  mixture.d_ff = 512;
  model.d_model = 128;
  model.ffn = mixture;
  CHECK(cpu::num_parts(model, text, 128) == 16);
  mixture.dropout = 0.1;
  model.ffn = mixture;
  CHECK(cpu::num_parts(model, text, 128) == 1);
}

TEST_CASE("a learner's step in parts moves all of a wide row by the gradient of the whole batch", "[train][parts]") {
  constexpr std::int64_t kPiece = 1 << 14;  // floats of a row that a thread takes at a time, as parts.cpp has it
  for (const bool mixture : {false, true}) {
    INFO((mixture ? "mixture" : "plain"));
    RunConfig config = wide(mixture);
    config.train.clip_norm = 0;
    SgdConfig descent;
    descent.lr = 1;
    descent.momentum = 0;
    config.train.optimizer = descent;  // weights before − weights after = gradient
    const auto task = make_task(config.task, {{1, 2}});
    const auto whole = step_in(1, 1, config, task->shape(), sub_seed(static_cast<std::uint64_t>(config.seed), "dropout"));
    for (const std::size_t threads : {1, 2, 7}) {
      INFO(threads << " threads");
      CpuLearner learner({config}, *task, [&] { return threads; });
      REQUIRE(learner.num_parts() > 1);
      REQUIRE(learner.layout().width() > 2 * kPiece);
      REQUIRE(learner.layout().width() % kPiece != 0);  // the last piece is a shorter one
      const Batch batch(config, learner.layout());
      learner.write_state(0, 0, batch.parameters.data());
      std::vector<RunSteps> steps;
      learner.advance(3, 4, {1}, steps);
      std::vector<float> moved(batch.parameters.size());
      learner.read_state(0, 0, moved.data());
      for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = batch.parameters[i] - moved[i];
      CHECK(largest_difference(moved, whole) < kPartsTolerance);
      CHECK(steps[0].reports.at(0).grad_norm == Approx(std::sqrt(whole.squares)).epsilon(1e-5));
      CHECK(std::abs(steps[0].reports[0].loss - whole.loss.mean) < 1e-6);
    }
  }
}

TEST_CASE("a learner's steps and evaluations have the same bits for any number of threads, also when that changes", "[train][parts]") {
  for (const bool mixture : {false, true}) {
    INFO((mixture ? "mixture" : "plain"));
    const RunConfig config = wide(mixture);
    const auto task = make_task(config.task, {{1, 2}});
    const auto trained = [&](const ThreadCount& threads) {
      CpuLearner learner({config}, *task, threads);
      CHECK(learner.num_parts() > 1);
      std::vector<float> row(static_cast<std::size_t>(learner.layout().width()));
      learner.layout().initialise(5, row.data());
      learner.write_state(0, 0, row.data());
      std::vector<RunSteps> steps;
      std::vector<LossSums> sums;
      std::vector<double> numbers;
      for (std::int64_t step = 0; step < config.train.steps; step += 2) {
        learner.advance(step, step + 2, {1}, steps);
        learner.evaluate({1}, sums);
        for (const auto& report : steps[0].reports) numbers.insert(numbers.end(), {report.loss, report.auxiliary[0], report.grad_norm});
        numbers.insert(numbers.end(), {sums[0].loss, static_cast<double>(sums[0].correct), static_cast<double>(sums[0].scored)});
      }
      learner.read_state(0, 0, row.data());
      numbers.insert(numbers.end(), row.begin(), row.end());
      for (const double number : numbers) CHECK(std::isfinite(number));
      return numbers;
    };
    const auto one = trained({});
    CHECK(one == trained([] { return std::size_t{2}; }));
    CHECK(one == trained([] { return std::size_t{7}; }));
    std::size_t asked = 0;
    CHECK(one == trained([&asked] { return 1 + asked++ % 4; }));
  }
}

TEST_CASE("a team works on every part once, round after round, and tells errors", "[train][parts]") {
  std::atomic<int> started{0};
  ThreadTeam team([&] { ++started; });
  for (int round = 0; round < 2000; ++round) {
    const auto threads = static_cast<std::size_t>(1 + round % 5), count = static_cast<std::size_t>(round % 7);
    std::vector<std::atomic<int>> calls(count);
    std::atomic<bool> beyond{false};
    team.run(threads, count, [&](std::size_t part, std::size_t thread) {
      ++calls[part];
      if (thread >= threads) beyond = true;
    });
    bool once = true;
    for (const auto& n : calls) once = once && n == 1;
    REQUIRE(once);
    REQUIRE_FALSE(beyond);
  }
  CHECK(started <= 4);
  std::atomic<int> ended{0};
  const auto fails = [&](std::size_t part, std::size_t) {
    ++ended;
    if (part == 2) throw std::runtime_error("two");
  };
  CHECK_THROWS_AS(team.run(3, 8, fails), std::runtime_error);
  CHECK(ended == 8);
  team.run(3, 8, [&](std::size_t, std::size_t) { ++ended; });  // and goes on
  CHECK(ended == 16);
}
