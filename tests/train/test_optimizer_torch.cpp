// Our one-pass optimizers against torch::optim over 100 steps.
#include <torch/optim.h>

#include <set>

#include "ffn/layers/linear_torch.hpp"
#include "ffn/layers/network_cpu.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "ffn/train/optimizer.hpp"
#include "support/catch.hpp"
#include "support/choices.hpp"
#include "support/worst.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

// The configs under which an optimizer is compared, and its twin in torch::optim: one overload of each per optimizer, one that
// lacks them does not compile.
// Of Adam's fields none at its default: one that is forgotten differs.
template <class Config>
std::vector<Config> some_of_adam(Config c) {
  c.lr = 0.02;
  c.beta1 = 0.7;
  c.beta2 = 0.95;
  c.epsilon = 1e-2;
  c.weight_decay = 0.1;
  return {c};
}

std::vector<AdamWConfig> some(AdamWConfig c) { return some_of_adam(c); }
std::unique_ptr<torch::optim::Optimizer> twin(const AdamWConfig& c, const std::vector<Tensor>& p) {
  const auto options = torch::optim::AdamWOptions(c.lr).betas({c.beta1, c.beta2}).eps(c.epsilon).weight_decay(c.weight_decay);
  return std::make_unique<torch::optim::AdamW>(p, options);
}

std::vector<AdamConfig> some(AdamConfig c) { return some_of_adam(c); }
std::unique_ptr<torch::optim::Optimizer> twin(const AdamConfig& c, const std::vector<Tensor>& p) {
  const auto options = torch::optim::AdamOptions(c.lr).betas({c.beta1, c.beta2}).eps(c.epsilon).weight_decay(c.weight_decay);
  return std::make_unique<torch::optim::Adam>(p, options);
}

std::vector<SgdConfig> some(SgdConfig c) {
  c.lr = 0.003;
  c.weight_decay = 0.05;
  auto plain = c, nesterov = c;
  plain.momentum = 0;
  nesterov.nesterov = true;
  return {plain, c, nesterov};
}
std::unique_ptr<torch::optim::Optimizer> twin(const SgdConfig& c, const std::vector<Tensor>& p) {
  return std::make_unique<torch::optim::SGD>(
      p, torch::optim::SGDOptions(c.lr).momentum(c.momentum).nesterov(c.nesterov).weight_decay(c.weight_decay));
}

std::vector<LionConfig> some(LionConfig c) {
  c.lr = 0.003;
  c.beta1 = 0.7;
  c.beta2 = 0.95;
  c.weight_decay = 0.1;
  return {c};
}
// torch::optim has none; the paper's two lines.
struct Lion : torch::optim::Optimizer {
  Lion(const LionConfig& config, const std::vector<Tensor>& p)
      : torch::optim::Optimizer(p, std::make_unique<torch::optim::SGDOptions>(config.lr)), c(config) {}
  Tensor step(LossClosure) override {
    const torch::NoGradGuard no_grad;
    for (auto& p : param_groups()[0].params()) {
      Tensor& m = mean[p.unsafeGetTensorImpl()];
      if (!m.defined()) m = torch::zeros_like(p);
      p.mul_(1 - c.lr * c.weight_decay).sub_(c.lr * (c.beta1 * m + (1 - c.beta1) * p.grad()).sign());
      m = c.beta2 * m + (1 - c.beta2) * p.grad();
    }
    return {};
  }
  LionConfig c;
  std::map<void*, Tensor> mean;
};
std::unique_ptr<torch::optim::Optimizer> twin(const LionConfig& c, const std::vector<Tensor>& p) { return std::make_unique<Lion>(c, p); }

// Minimises a bent bowl with both and returns the largest difference over 100 steps, relative to the largest parameter.
template <class Config>
double largest_difference(const Config& config) {
  nn::Linear layer(1, 5, 7, true);
  nn::ParameterRow row(*layer);
  row.initialise({1});
  std::vector<Tensor> theirs = {layer->weight.detach().clone().requires_grad_(), layer->bias.detach().clone().requires_grad_()};
  RowOptimizer ours(row.layout(), {config});
  const auto reference = twin(config, theirs);
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

TEST_CASE("every optimizer equals torch::optim's over 100 steps, decay, momentum and Nesterov included", "[train]") {
  std::size_t compared = 0;
  test::each_alternative(OptimizerConfig{}, [&](auto optimizer) {
    for (auto config : some(optimizer)) {
      INFO(config.kKind << ", config " << compared);
      config.decay = "all";
      CHECK(largest_difference(config) < kStepTolerance);
      ++compared;
    }
  });
  CHECK(compared >= 6);
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
