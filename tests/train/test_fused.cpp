// The fused step against nn's modules and LibTorch's autograd: the loss and the gradient of every parameter.
#include "cases.hpp"
#include "ffn/core/random.hpp"
#include "ffn/train/cohort_config.hpp"
#include "ffn/train/fused_step.hpp"
#include "ffn/train/trainer.hpp"
#include "observer.hpp"
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
  double loss = 0, balance = 0, gradient = 0;
  std::string worst;
};

StepDifference compare_step(const RunConfig& config, std::int64_t step) {
  const auto task = make_task(config.task, {{1, 2}});
  nn::Network ours(1, config.model, task->shape()), theirs(1, config.model, task->shape());
  nn::ParameterRow row(*ours), reference(*theirs, torch::kFloat64);
  row.initialise({7});
  reference.initialise({7});
  // The same float32 numbers in both; norms and biases moved off their starting values.
  {
    torch::NoGradGuard no_grad;
    row.values().add_(torch::sin(torch::arange(row.values().numel(), torch::kFloat32)).mul_(0.1).view_as(row.values()));
    reference.values().copy_(row.values());
  }
  const double rate = dropout_rate(config.model.ffn);
  const std::uint64_t seed = sub_seed(3, "dropout");

  FusedStep fused(config, *task, row);
  const auto loss = fused.loss(0, step, rate, seed);

  nn::ForwardContext context;
  context.training = true, context.step = step, context.dropout_rates = {rate}, context.dropout_seeds = {seed};
  const Batch batch = task->train_batch(step, config.train.batch_size);
  const auto inputs = batch.inputs.is_floating_point() ? batch.inputs.to(torch::kFloat64) : batch.inputs;
  const auto out = theirs(inputs, context);
  const auto expected = nn::cross_entropy(out.logits, batch.labels).mean;
  auto objective = expected;
  if (out.balance_loss.defined()) objective = objective + balance_weight(config.model.ffn) * out.balance_loss;
  objective.sum().backward();

  StepDifference d;
  d.loss = std::abs(loss.mean - expected.item<double>());
  d.balance = out.balance_loss.defined() ? std::abs(loss.balance - out.balance_loss.item<double>()) : std::abs(loss.balance);
  for (const auto& entry : reference.entries()) {
    const auto theirs_grad = reference.gradients()[0].narrow(0, entry.offset, entry.count);
    const auto ours_grad = torch::from_blob(const_cast<float*>(fused.gradient()) + entry.offset, {entry.count}).to(torch::kFloat64);
    const double scale = std::max(1e-3, theirs_grad.abs().max().item<double>());
    const double error = (ours_grad - theirs_grad).abs().max().item<double>() / scale;
    if (!(error <= d.gradient)) d.gradient = error, d.worst = entry.name;
  }
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
    }
  }
}

TEST_CASE("training fused and training by LibTorch's autograd lead to the same place", "[train][fused]") {
  for (const auto& [name, config] : all_cases()) {
    INFO(name);
    test::Collected fused, reference;
    Trainer({{config}, {}}, fused).train();
    Trainer({{config}, {}}, reference, Compute::libtorch).train();
    for (const char* metric : {"val/loss", "val/accuracy", "train/loss", "train/grad_norm"}) {
      INFO(metric);
      CHECK(fused.last(0, metric) == Approx(reference.last(0, metric)).margin(2e-3));
    }
    REQUIRE(fused.evaluations.at(0).size() == reference.evaluations.at(0).size());
  }
}
