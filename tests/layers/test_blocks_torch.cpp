// Networks from their parts: blocks, norms, residuals, head and weights.
#include "ffn/config/accounting.hpp"
#include "ffn/layers/network_torch.hpp"
#include "layers/feed_forwards.hpp"
#include "support/catch.hpp"
#include "support/layers.hpp"

using namespace ffn;
using test::forward;
using test::kModel;
using test::some_input;
using torch::Tensor;

TEST_CASE("residual dropout scales or zeroes what a sub-layer adds, before the norm on its output, and nothing in evaluation", "[torch]") {
  constexpr double kRate = 0.25;
  ModelConfig config;
  config.d_model = kModel;
  config.residual = true;
  config.residual_dropout = kRate;
  PositionwiseConfig ffn;
  ffn.d_ff = 10;
  config.ffn = ffn;
  const Tensor x = some_input(1, 2000);
  const auto added = [&](const ModelConfig& model, std::uint32_t index, bool training) {
    modules::Block block(1, model, 1, index);
    modules::ParameterRow row(*block, torch::kFloat64);
    row.initialise({1});
    auto context = modules::training_context({0}, {7}, 0);
    context.training = training;
    return block(x, 1, context).y.detach() - x;
  };
  const Tensor all = added(config, 0, false), some = added(config, 0, true);
  const Tensor dropped = some.eq(0);
  CHECK(dropped.to(torch::kFloat64).mean().item<double>() == Approx(kRate).margin(0.02));  // of 2,000 · D: standard error below 0.005
  CHECK(torch::where(dropped, torch::zeros_like(all), some - all / (1 - kRate)).abs().max().item<double>() < 1e-6);  // masks are floats
  CHECK_FALSE(torch::equal(added(config, 1, true).eq(0), dropped));  // each block has its own draws

  ModelConfig normed = config;
  normed.norm.kind = "rms";
  normed.norm.placement = "sandwich";
  normed.norm.epsilon = 1e-30;
  const Tensor size = added(normed, 0, true).square().mean(-1).sqrt();
  CHECK((size - 1).abs().max().item<double>() < 1e-12);  // normed after the dropout: each token adds a vector of size 1

  ModelConfig attends = config;
  attends.ffn = NoFfnConfig{};
  attends.attention.emplace();
  attends.attention->heads = 1;
  const Tensor of_attention = added(attends, 0, true).eq(0);
  CHECK(of_attention.to(torch::kFloat64).mean().item<double>() == Approx(kRate).margin(0.02));
  CHECK_FALSE(torch::equal(of_attention, dropped));
}

TEST_CASE("a tied head multiplies by the embedding and adds its own bias", "[torch]") {
  ModelConfig config;
  config.d_model = 2;
  config.ffn = NoFfnConfig{};
  config.positions = "none";
  config.tie = true;
  modules::Network network(1, config, TaskShape{true, 3, 2, 3});
  modules::ParameterRow row(*network, torch::kFloat64);
  REQUIRE(row.entries().size() == 2);
  const torch::NoGradGuard no_grad;
  auto parameters = network->named_parameters();
  parameters["embedding"].copy_(torch::tensor({1.0, 2.0, 0.0, -1.0, 3.0, 0.5}, torch::kFloat64).view({1, 3, 2}));
  parameters["head.bias"].copy_(torch::tensor({10.0, 20.0, 30.0}, torch::kFloat64).view({1, 3}));
  const Tensor tokens = torch::tensor({2, 0}, torch::kInt64).view({1, 1, 2});
  // (3, 0.5) and (1, 2) times the rows (1, 2), (0, -1), (3, 0.5)
  const Tensor expected = torch::tensor({14.0, 19.5, 39.25, 15.0, 18.0, 34.0}, torch::kFloat64).view({1, 2, 3});
  CHECK(torch::equal(network(tokens, modules::ForwardContext{}).outputs, expected));
}

TEST_CASE("blocks that share their FFN compute what blocks with equal FFNs do, and drop other units", "[torch]") {
  ModelConfig config;
  config.d_model = kModel;
  config.blocks = 2;
  config.residual = true;
  config.ffn = PositionwiseConfig{};
  const TaskShape task{false, 3, 1, 4};
  modules::Network apart(1, config, task);
  config.share_ffn = true;
  modules::Network shared(1, config, task);
  modules::ParameterRow row(*shared, torch::kFloat64), rows(*apart, torch::kFloat64);
  CHECK(row.num_parameters() == model_cost(config, task).total.parameters);
  test::fill_by_formula(row, 0);
  auto weights = row.export_run(0);
  for (auto tensor : row.export_run(0)) {
    if (tensor.name.rfind("block0.", 0) != 0) continue;
    tensor.name.replace(0, 7, "block1.");
    weights.push_back(tensor);
  }
  rows.import_run(0, weights);
  const Tensor x = test::formula_tensor("x", {1, 5, 3});
  auto context = modules::training_context({0.5}, {7}, 0);  // the masks of a block are those that it has without sharing
  for (const bool training : {false, true}) {
    context.training = training;
    CHECK(torch::equal(shared(x, context).outputs, apart(x, context).outputs));
  }
}

TEST_CASE("the same seed gives a parameter the same values in every model that has it", "[torch]") {
  ModelConfig with, without;
  with.attention.emplace();
  const TaskShape task{true, 7, 5, 4};
  modules::Network a(1, with, task), b(1, without, task);
  modules::ParameterRow row_a(*a), row_b(*b);
  row_a.initialise({9});
  row_b.initialise({9});
  int shared = 0;
  for (const auto& x : row_a.export_run(0)) {
    for (const auto& y : row_b.export_run(0)) {
      if (x.name != y.name) continue;
      CHECK(x.bytes == y.bytes);
      ++shared;
    }
  }
  CHECK(shared == 8);
}
