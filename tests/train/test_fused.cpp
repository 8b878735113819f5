// The fused step against nn's modules and LibTorch's autograd: the loss and the gradient of every parameter.
#include "cases.hpp"
#include "ffn/core/random.hpp"
#include "ffn/fused/network.hpp"
#include "ffn/nn/network.hpp"
#include "ffn/nn/parameter_row.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/fused_step.hpp"
#include "support/batches.hpp"
#include "support/catch.hpp"

using namespace ffn;

namespace {

// float32 against float64: the sums of some hundred terms. A wrong formula is off by more than 1e-2.
constexpr double kFusedTolerance = 2e-5;

std::vector<std::pair<std::string, RunConfig>> all_cases() {
  auto out = test::cases();
  for (const char* norm : {"layer", "rms"}) {
    for (const char* placement : {"pre", "post", "sandwich"}) {
      for (const char* scores : {"content", "position"}) {
        auto config = test::base(test::some_ffn<PositionwiseConfig>("gelu"), true);
        config.model.norm.kind = norm;
        config.model.norm.placement = placement;
        config.model.attention->scores = scores;
        config.model.attention->causal = placement[0] == 'p';
        config.model.attention->bias = norm[0] == 'r';
        config.model.residual = placement[1] != 'o';
        out.emplace_back(std::string(norm) + " " + placement + " " + scores, config);
      }
    }
  }
  auto none = test::base(NoFfnConfig{}, true);
  out.emplace_back("attention alone", none);
  none.model.positions = "none";
  none.model.attention.reset();
  out.emplace_back("nothing in the blocks, no positions", none);
  auto unbiased = std::get<GatedConfig>(test::some_ffn<GatedConfig>("silu"));
  unbiased.bias = false;
  out.emplace_back("gated without biases", test::base(unbiased, false));
  auto crowded = std::get<MoeConfig>(test::some_ffn<MoeConfig>("relu"));
  crowded.num_experts = 20, crowded.top_k = 1;  // more experts than tokens: some get none
  out.emplace_back("moe with idle experts", test::base(crowded, false));
  auto dense = crowded;
  dense.num_experts = 3, dense.top_k = 3;
  out.emplace_back("moe with all experts", test::base(dense, true));
  return out;
}

struct StepDifference {
  double loss = 0, balance = 0, gradient = 0, score = 0;
  std::string worst;
};

StepDifference compare_step(const RunConfig& config, std::int64_t step) {
  const auto task = make_task(config.task, {{1, 2}});
  FusedStep fused(config, *task);
  const auto& layout = fused.layout();
  std::vector<float> parameters(static_cast<std::size_t>(layout.width()));
  layout.initialise(7, parameters.data());
  // Norms and biases moved off their starting values.
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] += 0.1f * std::sin(static_cast<float>(i));
  nn::Network network(1, config.model, task->shape());
  nn::ParameterRow row(*network, torch::kFloat64);
  {
    torch::NoGradGuard no_grad;
    row.values().copy_(torch::tensor(parameters).view({1, -1}));
  }
  const double rate = dropout_rate(config.model.ffn);
  const std::uint64_t seed = sub_seed(3, "dropout");
  const auto as_double = [](const torch::Tensor& x) { return x.is_floating_point() ? x.to(torch::kFloat64) : x; };

  fused.loss(0, step + 1, parameters.data(), rate, seed);  // what another step left behind must not matter
  const auto loss = fused.loss(0, step, parameters.data(), rate, seed);

  nn::ForwardContext context;
  context.training = true, context.step = step, context.dropout_rates = {rate}, context.dropout_seeds = {seed};
  const auto batch = test::train_batch(*task, step, config.train.batch_size);
  const auto out = network(as_double(batch.inputs), context);
  const auto expected = nn::cross_entropy(out.logits, batch.labels).mean;
  auto objective = expected;
  if (out.balance_loss.defined()) objective = objective + balance_weight(config.model.ffn) * out.balance_loss;
  objective.sum().backward();

  StepDifference d;
  d.loss = std::abs(loss.mean - expected.item<double>());
  d.balance = out.balance_loss.defined() ? std::abs(loss.balance - out.balance_loss.item<double>()) : std::abs(loss.balance);
  for (const auto& entry : row.entries()) {
    const auto theirs = row.gradients()[0].narrow(0, entry.offset, entry.count);
    const auto ours = torch::from_blob(const_cast<float*>(fused.gradient()) + entry.offset, {entry.count}).to(torch::kFloat64);
    const double scale = std::max(1e-3, theirs.abs().max().item<double>());
    const double error = (ours - theirs).abs().max().item<double>() / scale;
    if (!(error <= d.gradient)) d.gradient = error, d.worst = entry.name;
  }

  const torch::NoGradGuard no_grad;
  const auto set = test::validation(*task, 50);
  const auto validated = nn::cross_entropy(network(as_double(set.inputs), nn::ForwardContext{}).logits, set.labels);
  const auto score = fused.evaluate(0, parameters.data(), task->validation(50));
  d.score = std::abs(score.loss - validated.mean.item<double>()) +
            std::abs(score.accuracy - validated.correct.item<double>() / validated.scored.item<double>());
  return d;
}

}  // namespace

TEST_CASE("the fused step has the loss and the gradients of LibTorch's modules", "[train][fused]") {
  for (const auto& [name, config] : all_cases()) {
    for (const std::int64_t step : {0, 3}) {
      const auto d = compare_step(config, step);
      INFO(name << ", step " << step << ", worst gradient of " << d.worst);
      CHECK(d.loss < 1e-6);
      CHECK(d.balance < 1e-6);
      CHECK(d.gradient < kFusedTolerance);
      CHECK(d.score < 1e-6);
    }
  }
}

TEST_CASE("the fused step's parameters are those of nn's modules: names, places, starts and files", "[train][fused]") {
  for (const auto& [name, config] : all_cases()) {
    INFO(name);
    const auto shape = make_task(config.task, {{1, 2}})->shape();
    const fused::Network fused(config.model, shape);
    const auto& layout = fused.layout();
    nn::Network network(1, config.model, shape);
    nn::ParameterRow row(*network);
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
    CHECK(torch::equal(torch::tensor(values), row.values()[0]));
    // What a file holds is what torch.nn.Linear would: (out, in).
    const auto file = layout.export_row(values.data());
    std::size_t at = 0;
    for (const auto& p : network->named_parameters()) {
      const auto expected = p.value().detach()[0];
      const bool linear = p.key().find("weight") != std::string::npos && expected.dim() == 2;
      if (expected.dim() == 3 || p.key().find("experts") != std::string::npos) break;
      const auto stored = torch::from_blob(const_cast<char*>(file[at].bytes.data()), {expected.numel()}, torch::kFloat32);
      CHECK(torch::equal(stored, (linear ? expected.t() : expected).reshape(-1)));
      ++at;
    }
    CHECK(at > 0);
  }
}
