// Our one-pass optimizers against torch::optim over 100 steps.
#include <torch/optim.h>

#include <set>

#include "ffn/fused/network.hpp"
#include "ffn/nn/linear.hpp"
#include "ffn/nn/parameter_row.hpp"
#include "ffn/train/optimizer.hpp"
#include "support/catch.hpp"
#include "support/worst.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

// Minimises a bent bowl with both and returns the largest difference over 100 steps, relative to the largest parameter.
double largest_difference(const OptimizerConfig& config,
                          const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<Tensor>)>& make_theirs) {
  nn::Linear layer(1, 5, 7, true);
  nn::ParameterRow row(*layer);
  row.initialise({1});
  std::vector<Tensor> theirs = {layer->weight.detach().clone().requires_grad_(), layer->bias.detach().clone().requires_grad_()};
  RowOptimizer ours(row.layout(), {config});
  auto reference = make_theirs(theirs);
  const auto loss = [](const Tensor& w, const Tensor& b, int step) {
    return ((w * (1.0 + 0.1 * std::sin(step))).pow(4).sum() + (w.square().sum() - 2).square() + (b - 0.3).cosh().sum());
  };
  test::Worst worst;
  for (int step = 0; step < 100; ++step) {
    row.gradients().zero_();
    loss(layer->weight, layer->bias, step).backward();
    ours.step(0, step + 1, 1.0, 1.0, row.gradients().data_ptr<float>(), row.values().data_ptr<float>());
    reference->zero_grad();
    loss(theirs[0], theirs[1], step).backward();
    reference->step();
    torch::NoGradGuard no_grad;
    worst.add((layer->weight - theirs[0]).abs().max().item<double>(), step);
    worst.add((layer->bias - theirs[1]).abs().max().item<double>(), step);
  }
  return worst.error();
}

// 100 steps of float32 arithmetic in another order of operations; a wrong formula is off by more than 1e-2 here.
constexpr double kStepTolerance = 1e-5;

}  // namespace

TEST_CASE("AdamW equals torch::optim::AdamW over 100 steps", "[train]") {
  AdamWConfig config;
  config.lr = 0.02;
  config.weight_decay = 0.1;
  config.decay = "all";
  CHECK(largest_difference(config, [](auto p) {
          return std::make_unique<torch::optim::AdamW>(p, torch::optim::AdamWOptions(0.02).weight_decay(0.1));
        }) < kStepTolerance);
}

TEST_CASE("Adam equals torch::optim::Adam over 100 steps, its L2 term included", "[train]") {
  AdamConfig config;
  config.lr = 0.02;
  config.beta2 = 0.95;
  config.weight_decay = 0.1;
  config.decay = "all";
  CHECK(largest_difference(config, [](auto p) {
          return std::make_unique<torch::optim::Adam>(p, torch::optim::AdamOptions(0.02).betas({0.9, 0.95}).weight_decay(0.1));
        }) < kStepTolerance);
}

TEST_CASE("SGD equals torch::optim::SGD over 100 steps, plain, with momentum and with Nesterov", "[train]") {
  for (const double momentum : {0.0, 0.9}) {
    for (const bool nesterov : {false, true}) {
      if (nesterov && momentum == 0) continue;
      SgdConfig config;
      config.lr = 0.003;
      config.momentum = momentum;
      config.nesterov = nesterov;
      config.weight_decay = 0.05;
      config.decay = "all";
      INFO("momentum " << momentum << ", nesterov " << nesterov);
      CHECK(largest_difference(config, [&](auto p) {
              return std::make_unique<torch::optim::SGD>(
                  p, torch::optim::SGDOptions(0.003).momentum(momentum).nesterov(nesterov).weight_decay(0.05));
            }) < kStepTolerance);
    }
  }
}

TEST_CASE("decay on matrices leaves biases alone", "[train]") {
  nn::Linear layer(2, 3, 4, true);
  nn::ParameterRow row(*layer);
  row.initialise({1, 2});
  const Tensor weight = layer->weight.detach().clone(), bias = layer->bias.detach().clone();
  AdamWConfig config;
  config.lr = 0.1;
  config.weight_decay = 0.5;
  RowOptimizer optimizer(row.layout(), {config, config});
  const std::vector<float> nothing(static_cast<std::size_t>(row.values().size(1)));
  optimizer.step(1, 1, 1.0, 1.0, nothing.data(),
                 row.values().data_ptr<float>() + row.values().size(1));  // zero gradient: only decay acts, on run 1 alone
  CHECK(torch::equal(layer->bias, bias));
  CHECK(torch::equal(layer->weight[0], weight[0]));
  CHECK(torch::allclose(layer->weight[1], weight[1] * 0.95));
}

TEST_CASE("decay on matrices acts on the weights of maps, embeddings and scores, per expert, and on nothing else", "[train]") {
  ModelConfig model;
  model.d_model = 6;
  model.attention.emplace();
  model.attention->heads = 2;
  model.attention->scores = "position";
  model.attention->bias = true;
  model.norm.kind = "layer";
  model.norm.placement = "sandwich";
  MoeConfig moe;
  moe.gated = true;
  moe.num_experts = 3;
  model.ffn = moe;
  const fused::Network network(model, TaskShape{true, 5, 4, 2});
  const auto& layout = network.layout();
  AdamWConfig config;
  config.weight_decay = 0.5;
  RowOptimizer optimizer(layout, {config});
  const std::vector<float> nothing(static_cast<std::size_t>(layout.width()));
  std::vector<float> parameters(nothing.size(), 1.0f);
  optimizer.step(0, 1, 1.0, 1.0, nothing.data(), parameters.data());  // zero gradient: only decay acts

  std::set<std::string> decayed;
  for (const auto& entry : layout.entries()) {
    if (parameters[static_cast<std::size_t>(entry.offset)] != 1.0f) decayed.insert(entry.name);
  }
  const std::set<std::string> expected = {"embedding",
                                          "position",
                                          "block0.attention.scores",
                                          "block0.attention.value.weight",
                                          "block0.attention.output.weight",
                                          "block0.ffn.router.gate.weight",
                                          "block0.ffn.experts.gate.weight",
                                          "block0.ffn.experts.up.weight",
                                          "block0.ffn.experts.down.weight",
                                          "head.weight"};
  CHECK(decayed == expected);
  CHECK(layout.entries().size() == expected.size() + 2 + 3 + 4 * 2 + 2 + 1);  // biases: maps, experts; norms, the last one; head
}
