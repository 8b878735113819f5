// Our one-pass optimizers against torch::optim over 100 steps.
#include <torch/optim.h>

#include <set>

#include "ffn/config/parameters.hpp"
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
// No field of Adam at its default: one that is forgotten differs.
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

std::vector<MuonConfig> some(MuonConfig c) {
  c.lr = 0.003;
  c.momentum = 0.7;
  c.adam_lr = 0.02;
  c.beta1 = 0.7;
  c.beta2 = 0.9;
  c.epsilon = 1e-2;
  c.weight_decay = 0.1;
  auto plain = c, rms = c, spectral = c;
  plain.nesterov = false;
  rms.scaling = "rms";
  spectral.scaling = "spectral";
  return {c, plain, rms, spectral};
}
// torch::optim has none before 2.9; Jordan's muon.py line by line, in float64. Ours are (D_in, D_out), its matrices (D_out, D_in).
struct Muon : torch::optim::Optimizer {
  Muon(const MuonConfig& config, const std::vector<Tensor>& p)
      : torch::optim::Optimizer(p, std::make_unique<torch::optim::SGDOptions>(config.lr)), c(config), adamw(twin(config.adamw(), {p[1]})) {}
  Tensor step(LossClosure) override {
    const torch::NoGradGuard no_grad;
    adamw->step();
    Tensor& p = param_groups()[0].params()[0];
    const Tensor g = p.grad()[0].t().to(torch::kFloat64);
    if (!m.defined()) m = torch::zeros_like(g);
    m.lerp_(g, 1 - c.momentum);
    Tensor x = c.nesterov ? g.lerp(m, c.momentum) : m.clone();
    const double r = static_cast<double>(g.size(0)), k = static_cast<double>(g.size(1));
    if (r > k) x = x.t();
    x = x / (x.norm() + 1e-7);
    for (int i = 0; i < 5; ++i) {
      const Tensor a = x.mm(x.t());
      x = 3.4445 * x + (-4.7750 * a + 2.0315 * a.mm(a)).mm(x);
    }
    if (r > k) x = x.t();
    const double scale = c.scaling == "shape" ? std::sqrt(std::max(1.0, r / k))
                         : c.scaling == "rms" ? 0.2 * std::sqrt(std::max(r, k))
                                              : std::sqrt(r / k);
    p.mul_(1 - c.lr * c.weight_decay).sub_((c.lr * scale * x.t()).unsqueeze(0));
    return {};
  }
  MuonConfig c;
  std::unique_ptr<torch::optim::Optimizer> adamw;
  Tensor m;
};
std::unique_ptr<torch::optim::Optimizer> twin(const MuonConfig& c, const std::vector<Tensor>& p) { return std::make_unique<Muon>(c, p); }

// Minimises a bent bowl with both and returns the largest difference over 100 steps, relative to the largest parameter.
template <class Config>
double largest_difference(const Config& config) {
  modules::Linear layer(1, 5, 7, true);
  modules::ParameterRow row(*layer);
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
  CHECK(compared >= 10);
}

TEST_CASE("Muon moves hidden matrices of two rows and columns at least, and nothing else", "[train]") {
  ModelConfig model;
  model.d_model = 6;
  model.attention.emplace();
  model.attention->heads = 2;
  model.attention->bias = true;
  model.norm.kind = "layer";
  MoeConfig moe;
  moe.gated = true;
  moe.num_experts = 3;
  model.ffn = moe;
  const auto moved = [](const ModelConfig& of) {
    const cpu::Network network(of, TaskShape{true, 5, 4, 2});
    std::set<std::string> out;
    for (const auto& entry : network.layout().entries()) {
      if (update_rule(MuonConfig{})(entry).as_matrices) out.insert(entry.name);
    }
    return out;
  };
  CHECK(moved(model) == std::set<std::string>{"block0.attention.query.weight", "block0.attention.key.weight",
                                              "block0.attention.value.weight", "block0.attention.output.weight",
                                              "block0.ffn.experts.gate.weight", "block0.ffn.experts.up.weight",
                                              "block0.ffn.experts.down.weight"});
  RunConfig run;
  run.task = SequenceXorConfig{};
  run.train.optimizer = MuonConfig{};
  const auto division = [&](const ModelConfig& of) {
    run.model = of;
    return division_text(run);
  };
  CHECK(division(model) ==
        "muon: matrices of query, key, value, output, up, gate, down; adamw: embedding, position, router, norm, head, vectors, matrices of "
        "one row or column");
  model.ffn = PkmConfig{};
  CHECK(
      division(model) ==
      "muon: matrices of query, key, value, output; adamw: embedding, position, down, norm, head, vectors, matrices of one row or column, "
      "a memory's keys and slots");
  PositionwiseConfig narrow;
  narrow.d_ff = 1;
  model.ffn = narrow;
  model.attention.reset();
  CHECK(moved(model).empty());
  CHECK(division(model).find("muon: nothing") == 0);
  run.train.optimizer = AdamWConfig{};
  CHECK(division(model).empty());
}

TEST_CASE("Muon in pieces gives the bits of one go", "[train]") {
  RowLayout layout;
  layout.add(linear_parameters(5, 7, true).weight);
  layout.add(*linear_parameters(5, 7, true).bias);
  layout.add(expert_linear_parameters(3, 4, 6, false).weight);
  const auto width = layout.width();
  const auto filled = [&](double phase) {
    std::vector<float> row(static_cast<std::size_t>(width));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(std::sin(static_cast<double>(i) + phase));
    return row;
  };
  auto whole = filled(0), pieces = whole;
  const auto start = whole;
  RowOptimizer at_once(layout, {MuonConfig{}}), piecewise(layout, {MuonConfig{}});
  for (std::int64_t step = 1; step <= 3; ++step) {
    const auto gradient = filled(static_cast<double>(step));
    at_once.step(0, step, 1, 1, gradient.data(), whole.data());
    for (std::int64_t begin = 0; begin < width; begin += 11)
      piecewise.step(0, step, 1, 1, gradient.data(), pieces.data(), begin, std::min(begin + 11, width));
  }
  CHECK(whole == pieces);
  for (const auto& entry : layout.entries())
    CHECK(whole[static_cast<std::size_t>(entry.offset)] != start[static_cast<std::size_t>(entry.offset)]);
}
