// LibTorch's engine: the guarantees of the cpu one, and the two together.
#include <set>

#include "ffn/train/cpu_learner.hpp"
#include "ffn/train/learner_torch.hpp"
#include "ffn/train/trainer.hpp"
#include "ffn/train/verify_torch.hpp"
#include "support/catch.hpp"
#include "train/alike.hpp"

using namespace ffn;

namespace {

const MakeLearner kLibTorch = [](const std::vector<RunConfig>& runs, const Task& task) {
  return std::make_unique<TorchLearner>(runs, task, TorchOptions{});
};
const MakeLearner kCpu = [](const std::vector<RunConfig>& runs, const Task& task) { return std::make_unique<CpuLearner>(runs, task); };

test::Collected train(const Cohort& cohort, const MakeLearner& learner, std::int64_t stop_at = -1, const char* by = "torch, cpu") {
  test::Collected collected;
  collected.stop_at = stop_at;
  Trainer(cohort, collected, learner, by).train();
  return collected;
}

// Some of all, every kind of FFN, router and optimizer among them: LibTorch takes a second for what the cpu engine does in a hundredth of
// it.
std::vector<std::pair<std::string, RunConfig>> some_cases() {
  const auto all = test::cases();
  std::vector<std::pair<std::string, RunConfig>> out;
  std::set<std::pair<std::size_t, std::size_t>> kinds;
  std::set<std::size_t> optimizers;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& ffn = all[i].second.model.ffn;
    const auto* mixture = std::get_if<MoeConfig>(&ffn);
    const bool first = kinds.insert({ffn.index(), mixture ? mixture->router.index() : 0}).second;
    const bool first_of_optimizer = optimizers.insert(all[i].second.train.optimizer.index()).second;
    if (first || first_of_optimizer || i % 9 == 0) out.push_back(all[i]);
  }
  REQUIRE(kinds.size() == std::variant_size_v<FfnConfig> - 1 + std::variant_size_v<RouterConfig>);
  REQUIRE(optimizers.size() == std::variant_size_v<OptimizerConfig>);
  REQUIRE(out.size() >= 12);
  return out;
}

std::vector<RunConfig> cohort_of(const RunConfig& config, std::size_t count) {
  std::vector<RunConfig> runs(count, config);
  for (std::size_t r = 0; r < count; ++r) {
    runs[r].seed = static_cast<std::int64_t>(r);
    std::visit([&](auto& optimizer) { optimizer.lr *= r % 2 ? 1.0 : 0.5; }, runs[r].train.optimizer);
  }
  return runs;
}

RunConfig shipped(const std::string& file) {
  const std::string path = FFN_SOURCE_DIR "/configs/" + file;
  return read_run_config(load_document(path), path);
}

VerifyResult verified(const RunConfig& config, std::int64_t steps) {
  VerifyRequest request;
  request.steps = steps;
  return verify_engines(config, request);
}

void check_agrees(const VerifyResult& result) {
  for (const auto& p : result.parameters) {
    INFO(p.name << " gradient " << p.gradient << " / " << p.gradient_unit << ", weight " << p.weight << " / " << p.weight_unit);
    CHECK((p.gradient == 0 || p.gradient <= kVerifyLimit * p.gradient_unit));
    CHECK((p.weight == 0 || p.weight <= kVerifyLimit * p.weight_unit));
  }
  if (!result.parameters.empty() && result.validation_near_ties == 0) CHECK(result.loss <= kVerifyLimit * result.loss_unit);
}

}  // namespace

TEST_CASE("on LibTorch a run alone equals the same run in a cohort, bit for bit, at odd sizes", "[torch]") {
  for (const auto& [name, config] : some_cases()) {
    INFO(name << "; a layer's sigmoid or the like is modules::activate's, whose bits do not depend on an element's place");
    const auto runs = cohort_of(config, 5);
    const auto together = train({runs, {}}, kLibTorch);
    for (const std::size_t r : {std::size_t{0}, std::size_t{4}})
      CHECK((test::bits_of(train({{runs[r]}, {}}, kLibTorch), 0) == test::bits_of(together, r)));
    CHECK((test::bits_of(together, 0) != test::bits_of(together, 1)));
  }
}

TEST_CASE("on LibTorch a run that is interrupted and resumed ends in the same bits", "[torch]") {
  for (const auto& [name, config] : some_cases()) {
    INFO(name);
    const auto runs = cohort_of(config, 2);
    const auto whole = train({runs, {}}, kLibTorch);
    auto part = train({runs, {}}, kLibTorch, 7);
    REQUIRE(part.results.at(0).end == RunEnd::interrupted);
    Cohort rest{runs, {}};
    for (std::size_t r = 0; r < runs.size(); ++r) rest.resume.push_back(part.checkpoints.at(r).back());
    REQUIRE(rest.resume[0]->step > 0);
    REQUIRE(rest.resume[0]->step < config.train.steps);
    part.stop_at = -1;
    Trainer(rest, part, kLibTorch, "torch, cpu").train();
    for (std::size_t r = 0; r < runs.size(); ++r) CHECK((test::bits_of(part, r) == test::bits_of(whole, r)));
  }
}

TEST_CASE("no two values of a choice train alike where LibTorch alone trains", "[torch]") {
  std::size_t kinds = 0;
  test::each_alternative(FfnConfig{}, [&](auto ffn) {
    RunConfig config;
    config.model.ffn = ffn;
    kinds += !test::is_cpu(config) && !std::is_same_v<decltype(ffn), PkmConfig>;  // which has no activation
  });
  const auto trained = test::check_no_two_alike([](const RunConfig& config) { return !test::is_cpu(config); },
                                                [](const RunConfig& config) {
                                                  return train({{config}, {}}, kLibTorch);
                                                });
  CHECK(trained >= kinds * (1 + activations().size()));  // each kind, with each activation
}

TEST_CASE("on LibTorch no number of the model or of training is read and then forgotten", "[torch]") {
  const auto trained = test::check_every_number_acts([](const RunConfig&) { return true; },
                                                     [](const RunConfig& config) {
                                                       return train({{config}, {}}, kLibTorch);
                                                     });
  CHECK(trained == test::all_numbers().size());
}

TEST_CASE("a checkpoint of one engine goes on in the other, and the run says so", "[torch]") {
  for (const auto& [name, config] : test::only_cpu(some_cases())) {
    INFO(name);
    for (const bool cpu_first : {true, false}) {
      const auto& first = cpu_first ? kCpu : kLibTorch;
      const auto& second = cpu_first ? kLibTorch : kCpu;
      auto part = train({{config}, {}}, first, 12, "first");
      REQUIRE(part.results.at(0).end == RunEnd::interrupted);
      Cohort rest{{config}, {part.checkpoints.at(0).back()}};
      const auto mixed = train(rest, second, -1, "second"), whole = train({{config}, {}}, first, -1, "first");
      CHECK(mixed.results.at(0).end == RunEnd::done);
      CHECK(mixed.results.at(0).computed_by == std::vector<std::string>{"first", "second"});
      CHECK(whole.results.at(0).computed_by == std::vector<std::string>{"first"});
      // 23 steps of float32 in another order of operations.
      CHECK(mixed.last(0, "val/loss") == Approx(whole.last(0, "val/loss")).margin(1e-4));
    }
  }
}

TEST_CASE("idle rows of a wider stack change nothing", "[torch]") {
  const MakeLearner wide = [](const std::vector<RunConfig>& runs, const Task& task) {
    TorchOptions options;
    options.stack_width = 4;
    options.host_free = true;  // as on a GPU
    return std::make_unique<TorchLearner>(runs, task, options);
  };
  for (const auto& [name, config] : some_cases()) {
    INFO(name);
    const auto runs = cohort_of(config, 3);
    const auto three = train({runs, {}}, wide), one = train({{runs[2]}, {}}, wide);
    CHECK((test::bits_of(three, 2) == test::bits_of(one, 0)));
    const auto& other = test::is_cpu(config) ? kCpu : kLibTorch;
    CHECK(three.last(2, "val/loss") == Approx(train({{runs[2]}, {}}, other).last(0, "val/loss")).margin(1e-4));
  }
}

TEST_CASE("on LibTorch a run that blows up stops as diverged, at the same step, and leaves its neighbours alone", "[torch]") {
  auto config = test::base(test::some_ffn<PositionwiseConfig>("relu2", 0.0), false);
  config.train.steps = 60;
  config.train.clip_norm = 0;
  SgdConfig sgd;
  sgd.lr = 0.01;
  config.train.optimizer = sgd;
  auto wild = config;
  std::get<SgdConfig>(wild.train.optimizer).lr = 1e6;
  const auto together = train({{config, wild, config}, {}}, kLibTorch), cpu = train({{config, wild, config}, {}}, kCpu);
  REQUIRE(together.results.at(1).end == RunEnd::diverged);
  CHECK(together.results.at(1).steps == cpu.results.at(1).steps);
  CHECK(together.results.at(0).end == RunEnd::done);
  CHECK((test::bits_of(together, 0) == test::bits_of(train({{config}, {}}, kLibTorch), 0)));
}

TEST_CASE("verify finds that the engines agree, over every case, or that there is nothing to compare", "[torch]") {
  auto cases = test::cases();
  cases.emplace_back("moe of zeros", test::mixture_of_zeros());
  std::int64_t seen = 0, steps = 0, cpu = 0;
  for (const auto& [name, config] : cases) {
    INFO(name);
    const auto result = verified(config, 5);
    CHECK(result.not_covered.empty() == test::is_cpu(config));
    CHECK(result.parameters.empty() == !test::is_cpu(config));
    check_agrees(result);
    ++seen;
    steps += result.steps;
    cpu += test::is_cpu(config);
  }
  CHECK(seen > 20);
  CHECK(steps > 4.9 * static_cast<double>(cpu));  // near ties are rare
}

TEST_CASE("verify tries LibTorch as it trains on a device, with every layer that has a module", "[torch]") {
  TorchOptions device;  // of the CPU, but with no help from it
  device.host_free = true;
  device.stack_width = 3;
  VerifyRequest request;
  request.steps = 3;
  int seen = 0, uncovered = 0;
  for (const auto& [name, config] : test::cases()) {
    INFO(name);
    const auto result = verify_engines(config, request, &device);
    CHECK(result.not_covered.empty());
    check_agrees(result);
    CHECK(std::any_of(result.parameters.begin(), result.parameters.end(),
                      [](const auto& p) { return p.gradient > 0; }));  // float32 beside float64
    ++seen;
    uncovered += !test::is_cpu(config);
  }
  CHECK(seen > 20);
  CHECK(uncovered > 0);
}

TEST_CASE("verify compares what comes before a choice of experts within rounding of a tie", "[torch]") {
  // A token's second and third expert are 2.4e-8 apart in step 4, and equal on the cpu engine: it takes the other one.
  auto config = shipped("moe.json");
  SgdConfig sgd;
  sgd.lr = 3e-3;
  sgd.weight_decay = 0.1;
  config.train.optimizer = sgd;
  const auto result = verified(config, 10);
  CHECK(result.near_ties > 0);
  CHECK(result.steps > 0);
  CHECK(result.steps <= 3);
  CHECK(result.seed == config.seed + result.seeds_passed_over);
  check_agrees(result);
  const auto before = verified(config, result.steps);
  CHECK(before.near_ties == 0);
  CHECK(before.steps == result.steps);
}

TEST_CASE("verify counts a gradient's rounding in a large batch alike in the weights that it moved", "[torch]") {
  // Biases of a norm begin at 0 and move little: next to the rounding of their gradients theirs is none.
  auto blocks = shipped("sequence-xor.json");
  SgdConfig sgd;
  sgd.lr = 0.1;
  blocks.model.norm.kind = "layer";
  blocks.train.batch_size = 4096;
  blocks.train.optimizer = sgd;
  check_agrees(verified(blocks, 10));
  auto vectors = shipped("xor.json");
  vectors.model.norm.kind = "layer";
  vectors.model.residual = true;
  vectors.train.batch_size = 8192;
  std::visit([&](const auto& optimizer) { sgd.lr = optimizer.lr; }, vectors.train.optimizer);
  vectors.train.optimizer = sgd;
  check_agrees(verified(vectors, 10));
}

TEST_CASE("verify agrees where the cpu engine cuts a batch into parts, and on RMS norms", "[torch]") {
  for (const char* file : {"text.json", "moe.json"}) {
    INFO(file);
    auto config = shipped(file);
    config.model.norm.kind = "rms";
    config.train.batch_size = 32;
    if (auto* moe = std::get_if<MoeConfig>(&config.model.ffn)) moe->dropout = 0;  // a mixture that drops is not cut
    const auto task = make_task(config.task, {{1, 2}});
    REQUIRE(CpuLearner({config}, *task).num_parts() > 1);
    const auto result = verified(config, 2);
    CHECK(result.steps > 0);
    check_agrees(result);
  }
}

TEST_CASE("verify moves on to the next seed where the first step has a choice of experts within rounding of a tie", "[torch]") {
  auto config = shipped("sequence-xor.json");
  config.seed = 5;  // one of 65,536 choices
  config.model.blocks = 2;
  MoeConfig moe;
  moe.num_experts = 16;
  config.model.ffn = moe;
  config.train.batch_size = 4096;
  const auto result = verified(config, 1);
  CHECK(result.seeds_passed_over > 0);
  CHECK(result.seed == config.seed + result.seeds_passed_over);
  CHECK(result.near_ties == 0);
  CHECK(result.steps == 1);
  REQUIRE(!result.parameters.empty());
  check_agrees(result);
}

TEST_CASE("the outputs of both engines are the same", "[torch]") {
  const bool tokens = GENERATE(true, false);
  const auto config = test::base(test::some_ffn<GatedConfig>("silu"), tokens);
  const auto task = make_task(config.task, {{1, 2}});
  const auto cpu = kCpu({config}, *task), libtorch = kLibTorch({config}, *task);
  std::vector<float> row(static_cast<std::size_t>(cpu->layout().width()));
  cpu->layout().initialise(5, row.data());
  cpu->write_state(0, 0, row.data());
  libtorch->write_state(0, 0, row.data());
  ExampleSet two;
  two.count = 2;
  if (tokens) two.tokens = {0, 1, 1, 1, 1, 0};
  else two = task->batch(0, 0, 2);
  const auto a = cpu->outputs(two), b = libtorch->outputs(two);
  REQUIRE(a.size() == (tokens ? 12 : 4));
  REQUIRE(b.size() == a.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(1e-5));
}
