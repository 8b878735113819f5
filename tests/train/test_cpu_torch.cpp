// The CPU step against LibTorch's modules and LibTorch's autograd: the loss and the gradient of every parameter.
#include "cases.hpp"
#include "ffn/base/random.hpp"
#include "ffn/formula/formula.hpp"
#include "ffn/layers/loss_torch.hpp"
#include "ffn/layers/network_cpu.hpp"
#include "ffn/layers/network_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "ffn/train/cpu_learner.hpp"
#include "observer.hpp"
#include "support/batches.hpp"
#include "support/catch.hpp"
#include "support/random_formula.hpp"
#include "support/worst.hpp"

using namespace ffn;

namespace {

// float32 against float64: the sums of some hundred terms. A wrong formula is off by more than 1e-2.
constexpr double kCpuTolerance = 2e-5;

struct StepDifference {
  double loss = HUGE_VAL, auxiliary = HUGE_VAL, score = HUGE_VAL;
  test::Worst gradient;
};

// The starting values, with norms and biases moved off them.
std::vector<float> some_parameters(const RowLayout& layout) {
  std::vector<float> parameters(static_cast<std::size_t>(layout.width()));
  layout.initialise(7, parameters.data());
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += 0.1f * std::sin(static_cast<float>(i));
  return parameters;
}

// With the dropout rate, the seed and the validation set that both sides are given.
RunConfig prepared(RunConfig config) {
  if (auto* size = size_of(config.model.ffn)) size->dropout = test::kDropout;
  config.seed = 3;
  config.train.eval_examples = 50;
  return config;
}

StepDifference compare_step(const RunConfig& some_config, std::int64_t step) {
  const RunConfig config = prepared(some_config);
  const auto task = make_task(config.task, {{1, 2}});
  CpuLearner cpu({config}, *task);
  const auto parameters = some_parameters(cpu.layout());
  cpu.write_state(0, 0, parameters.data());
  modules::Network network(1, config.model, task->shape());
  modules::ParameterRow row(*network, torch::kFloat64);
  {
    torch::NoGradGuard no_grad;
    row.values().copy_(torch::tensor(parameters).view({1, -1}));
  }
  const std::uint64_t seed = sub_seed(3, "dropout");
  // The second step on one buffer: a gradient that is added to has to be cleared of the first.
  cpu.loss(0, step + 1);
  const auto loss = cpu.loss(0, step);

  const auto context = modules::training_context({test::kDropout}, {seed}, step);
  const auto batch = test::train_batch(*task, step, config.train.batch_size);
  const auto out = network(test::as_double(batch.inputs), context);
  const auto expected = modules::compute_loss(config.loss(), out.outputs, test::as_double(batch.labels)).mean;
  auto objective = expected;
  const auto auxiliary = auxiliary_losses(config.model);
  REQUIRE(auxiliary.size() == out.auxiliary.size());
  StepDifference d;
  d.auxiliary = 0;
  for (std::size_t i = 0; i < auxiliary.size(); ++i) {
    objective = objective + auxiliary[i].weight * out.auxiliary[i];
    d.auxiliary = std::max(d.auxiliary, std::abs(loss.auxiliary[i] - out.auxiliary[i].item<double>()));
  }
  objective.sum().backward();

  d.loss = std::abs(loss.mean - expected.item<double>());
  for (const auto& entry : row.entries()) {
    const auto theirs = row.gradients()[0].narrow(0, entry.offset, entry.count);
    const auto ours = torch::from_blob(const_cast<float*>(cpu.gradient()) + entry.offset, {entry.count}).to(torch::kFloat64);
    const double largest = theirs.abs().max().item<double>();
    // A gradient that is 0 in exact arithmetic (a shift before a norm) is rounding alone in float.
    const double scale = largest < 1e-12 ? 0.1 : std::max(1e-3, largest);
    d.gradient.add((ours - theirs).abs().max().item<double>() / scale, entry.name);
  }

  const torch::NoGradGuard no_grad;
  const auto set = test::validation(*task, 50);
  const auto validated = modules::compute_loss(config.loss(), network(test::as_double(set.inputs), modules::ForwardContext{}).outputs,
                                               test::as_double(set.labels));
  std::vector<LossSums> sums;
  cpu.evaluate({1}, sums);
  const auto scored = static_cast<double>(sums.at(0).scored);
  d.score = std::abs(sums[0].loss / scored - validated.mean.item<double>()) +
            std::abs(static_cast<double>(sums[0].correct) - validated.correct.item<double>()) +
            std::abs(scored - validated.scored.item<double>());
  return d;
}

// A LibTorch parameter's values of run 0 as a file has them: (out, in) where the name says that it is a map's weight, and of every matrix
// of a formula.
torch::Tensor in_file_layout(const std::string& name, const torch::Tensor& values) {
  const bool weight = name.size() > 7 && name.compare(name.size() - 7, 7, ".weight") == 0 && name.find("norm.") == std::string::npos;
  const bool map = weight || (name.find(".ffn.") != std::string::npos && values.dim() == 2);
  return (map ? values.t() : values).contiguous();
}

}  // namespace

TEST_CASE("the CPU step has the loss and the gradients of LibTorch's modules, on a used buffer too", "[train][cpu]") {
  int checked = 0;
  for (const auto& [name, config] : test::cpu_cases()) {
    for (const std::int64_t step : {0, 3}) {
      const auto d = compare_step(config, step);
      INFO(name << ", step " << step << ", worst gradient of " << d.gradient.where());
      CHECK(d.loss < 1e-6);
      CHECK(d.auxiliary < 1e-6);
      CHECK(d.gradient.error() < kCpuTolerance);
      CHECK(d.score < 1e-6);
      ++checked;
    }
  }
  CHECK(checked > 200);
}

TEST_CASE("a token that reaches a mixture as zeros goes to the experts of LibTorch's router", "[train][cpu]") {
  for (const std::int64_t step : {0, 3}) {
    const auto d = compare_step(test::mixture_of_zeros(), step);
    INFO("step " << step << ", worst gradient of " << d.gradient.where());
    CHECK(d.loss < 1e-6);
    CHECK(d.auxiliary < 1e-6);
    CHECK(d.gradient.error() < kCpuTolerance);
  }
}

TEST_CASE("attention over a long sequence, whose weights are not kept, has LibTorch's gradients", "[train][cpu]") {
  for (const bool causal : {false, true}) {  // the weights of 64 positions are kept, or of 256
    for (const std::int64_t length : {64, 65, 150, 260}) {
      PositionwiseConfig ffn;
      ffn.d_ff = 13;
      auto config = test::base(ffn, /*attention=*/true);
      std::get<SequenceXorConfig>(config.task).length = length;
      config.model.attention->causal = causal;
      config.train.batch_size = 3;
      const auto d = compare_step(config, 1);
      INFO("length " << length << (causal ? ", causal" : "") << ", worst gradient of " << d.gradient.where());
      CHECK(d.loss < 1e-6);
      CHECK(d.gradient.error() < kCpuTolerance);
      CHECK(d.score < 1e-6);
    }
  }
}

TEST_CASE("top_k in a layer and in the experts of a mixture has LibTorch's gradients", "[train][cpu]") {
  FormulaConfig layer;
  layer.text.formula = "dropout(top_k(x @ up + b, 3)) @ down + top_k(x, 2)";
  layer.text.parameters = Json::parse(R"({"up": ["D", "F"], "b": ["F"], "down": ["F", "D"]})");
  layer.d_ff = 13;
  auto moe = test::some_ffn<MoeConfig>("gelu");
  moe.num_experts = 3;
  moe.expert = layer.text;
  for (const FfnConfig& ffn : {FfnConfig(layer), FfnConfig(moe)}) {
    const auto d = compare_step(test::base(ffn, /*attention=*/true), 1);
    INFO("worst gradient of " << d.gradient.where());
    CHECK(d.loss < 1e-6);
    CHECK(d.gradient.error() < kCpuTolerance);
    CHECK(d.score < 1e-6);
  }
}

TEST_CASE("computed matrices in a layer and in the experts of a mixture have LibTorch's gradients", "[train][cpu]") {
  FormulaConfig layer;
  layer.text.formula = "x @ q @ q.T * mean_all(q) + gelu(x @ (up + stop(sin(up) - up))) @ (down * s)";
  layer.text.let = Json{{"q", "up / sqrt(0.1 + mean_all(up * up))"}};
  layer.text.parameters = Json::parse(R"({"up": ["D", "F"], "down": ["F", "D"], "s": [1]})");
  layer.text.init = Json::parse(R"({"s": 0.7})");
  layer.d_ff = 13;
  auto moe = test::some_ffn<MoeConfig>("gelu");
  moe.num_experts = 3;
  moe.expert = layer.text;
  for (const FfnConfig& ffn : {FfnConfig(layer), FfnConfig(moe)}) {
    const auto d = compare_step(test::base(ffn, /*attention=*/true), 1);
    INFO("worst gradient of " << d.gradient.where());
    CHECK(d.loss < 1e-6);
    CHECK(d.gradient.error() < kCpuTolerance);
    CHECK(d.score < 1e-6);
  }
}

TEST_CASE("formulas by chance have LibTorch's gradients", "[train][cpu]") {
  int operations = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    FormulaConfig ffn;
    ffn.text = test::RandomFormula(seed, 12).text();
    ffn.d_ff = 13;
    auto config = test::base(ffn, seed % 4 == 0);
    config.model.norm.kind = "rms";  // what a formula makes large stays comparable
    config.model.residual = true;
    const auto d = compare_step(config, static_cast<std::int64_t>(seed % 3));
    INFO("seed " << seed << ": " << ffn.text.formula << ", let " << ffn.text.let->dump() << ", worst gradient of " << d.gradient.where());
    CHECK(d.loss < 1e-5);
    CHECK(d.gradient.error() < 10 * kCpuTolerance);
    CHECK(d.score < 1e-5);
    operations += static_cast<int>(compile_formula(ffn.text, 10, 13, ffn.activation).nodes.size());
  }
  CHECK(operations > 200 * 8);
}

TEST_CASE("the CPU step's parameters are those of LibTorch's modules: names, places, starts and files", "[train][cpu]") {
  std::size_t experts = 0;
  for (const auto& [name, config] : test::cpu_cases()) {
    INFO(name);
    const auto shape = task_shape(config.task);
    const cpu::Network cpu(config.model, shape);
    const auto& layout = cpu.layout();
    modules::Network network(1, config.model, shape);
    modules::ParameterRow row(*network);
    REQUIRE(layout.entries().size() == row.entries().size());
    for (std::size_t i = 0; i < layout.entries().size(); ++i) {
      const auto &ours = layout.entries()[i], &theirs = row.entries()[i];
      CHECK(ours.name == theirs.name);
      CHECK(ours.offset == theirs.offset);
      CHECK(ours.shape == theirs.shape);
      CHECK((ours.layout == theirs.layout && ours.init.kind == theirs.init.kind && ours.decays == theirs.decays));
      CHECK(ours.init.scale == theirs.init.scale);
    }
    std::vector<float> values(static_cast<std::size_t>(layout.width()));
    layout.initialise(11, values.data());
    row.initialise({11});
    // A file's tensors for each of LibTorch's parameters, the experts' one after the other.
    const auto file = layout.export_row(values.data());
    std::size_t at = 0;
    for (const auto& p : network->named_parameters()) {
      const auto all = p.value().detach()[0];
      const bool grouped = p.key().find(".experts.") != std::string::npos;
      for (const auto& part : grouped ? all.unbind(0) : std::vector<torch::Tensor>{all}) {
        REQUIRE(at < file.size());
        INFO(file[at].name << " of " << p.key());
        const auto expected = in_file_layout(p.key(), part);
        CHECK(torch::IntArrayRef(file[at].shape) == expected.sizes());
        const auto stored = torch::from_blob(const_cast<char*>(file[at].bytes.data()), {expected.numel()}, torch::kFloat32);
        CHECK(torch::equal(stored, expected.view(-1)));
        experts += grouped;
        ++at;
      }
    }
    CHECK(at == file.size());
  }
  CHECK(experts > 1000);
}
