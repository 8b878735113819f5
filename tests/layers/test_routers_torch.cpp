// Routers against values computed elsewhere in float64, on logits that are given.
#include "ffn/config/metrics.hpp"
#include "ffn/layers/router_torch.hpp"
#include "support/catch.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

constexpr double kDigits = 1e-6;  // as many digits as the values have

Tensor doubles(std::initializer_list<double> values) { return torch::tensor(at::ArrayRef<double>(values), torch::kFloat64); }

/// cos((t+1)(i+1)), and 1 more for the first of four experts: (1, 6, 4)
Tensor some_logits() {
  Tensor z = torch::empty({1, 6, 4}, torch::kFloat64);
  for (int t = 0; t < 6; ++t) {
    for (int i = 0; i < 4; ++i) z[0][t][i] = std::cos((t + 1) * (i + 1)) + (i == 0 ? 1 : 0);
  }
  return z;
}

MoeConfig four_experts(const RouterConfig& router, std::int64_t top_k) {
  MoeConfig config;
  config.num_experts = 4;
  config.top_k = top_k;
  config.router = router;
  return config;
}

/// A router whose logits are its input.
std::shared_ptr<modules::Router> router_of(const MoeConfig& config) {
  auto router = modules::make_router(1, config.num_experts, config, 0);
  router->to(torch::kFloat64);
  const torch::NoGradGuard no_grad;
  router->named_parameters()["gate.weight"].copy_(torch::eye(config.num_experts, torch::kFloat64).unsqueeze(0));
  return router;
}

/// Weights of one token (E).
Tensor gates(const MoeConfig& config, const Tensor& logits) {
  const auto routing = router_of(config)->forward(logits.view({1, 1, -1}), modules::ForwardContext{});
  return routing.dense(routing.weight, 1, config.num_experts)[0][0].detach();
}

double loss_of(const MoeConfig& config, Auxiliary kind) {
  auto context = modules::training_context({0}, {1}, 0);
  context.sequence_length = 6;
  const auto routing = router_of(config)->forward(some_logits(), context);
  const auto losses = auxiliary_losses(config);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (losses[i].kind == kind) return routing.auxiliary.at(i)[0].item<double>();
  }
  return NAN;
}

bool near(const Tensor& found, const Tensor& expected) { return (found - expected).abs().max().item<double>() < kDigits; }

template <class Router>
Router raw() {
  Router router;
  router.weights = "raw";
  return router;
}

}  // namespace

TEST_CASE("gates of one token: softmax and sigmoid, raw and normalized", "[torch]") {
  const Tensor z = doubles({2, 1, 0.5, -1});
  CHECK(near(gates(four_experts(raw<SoftmaxTopKConfig>(), 2), z), doubles({0.609460, 0.224208, 0, 0})));
  CHECK(near(gates(four_experts(SoftmaxTopKConfig{}, 2), z), doubles({0.731059, 0.268941, 0, 0})));
  CHECK(near(gates(four_experts(SigmoidTopKConfig{}, 2), z), doubles({0.546449, 0.453551, 0, 0})));
  CHECK(near(gates(four_experts(raw<SigmoidTopKConfig>(), 2), z), z.sigmoid() * doubles({1, 1, 0, 0})));
  // A softmax over the two largest logits is the same gate.
  CHECK(near(gates(four_experts(SoftmaxTopKConfig{}, 2), z).narrow(0, 0, 2), z.narrow(0, 0, 2).softmax(0)));
  SoftmaxTopKConfig scaled;
  scaled.scale = 2.5;
  CHECK(near(gates(four_experts(scaled, 2), z), 2.5 * doubles({0.7310586, 0.2689414, 0, 0})));
  CHECK(near(gates(four_experts(SoftmaxTopKConfig{}, 1), z), doubles({0.609460, 0, 0, 0})));
}

TEST_CASE("a selection bias chooses, and is in no weight", "[torch]") {
  SigmoidTopKConfig biased;
  biased.bias_step = 0.1;
  const auto config = four_experts(biased, 2);
  const auto router = router_of(config);
  {
    const torch::NoGradGuard no_grad;
    router->named_parameters()["bias"].copy_(doubles({-0.3, 0, 0.1, 0.2}).view({1, 4}));
  }
  const auto routing = router->forward(doubles({2, 1, 0.5, -1}).view({1, 1, 4}), modules::ForwardContext{});
  CHECK(near(routing.dense(routing.weight, 1, 4)[0][0].detach(), doubles({0, 0.540117, 0.459883, 0})));
}

TEST_CASE("after a step a selection bias moves towards even loads, centred or not, where the run goes on", "[torch]") {
  for (const bool center : {false, true}) {
    INFO("centred " << center);
    SoftmaxTopKConfig biased;
    biased.bias_step = 0.01;
    biased.center_bias = center;
    const auto router = modules::make_router(2, 4, four_experts(biased, 2), 0);
    router->to(torch::kFloat64);
    const Tensor load = doubles({5, 3, 2, 2}).div(12).expand({2, 4});
    router->update_buffers(load, torch::tensor({true, false}).view({2, 1}));
    const Tensor bias = router->named_parameters()["bias"].detach();
    CHECK(near(bias[0], center ? doubles({-0.0125, -0.0025, 0.0075, 0.0075}) : doubles({-0.01, 0, 0.01, 0.01})));
    CHECK(near(bias[1], torch::zeros({4}, torch::kFloat64)));
  }
}

TEST_CASE("a router's losses over a batch of six tokens", "[torch]") {
  const auto softmax = [](std::int64_t top_k) { return four_experts(SoftmaxTopKConfig{}, top_k); };
  CHECK(std::abs(loss_of(softmax(1), Auxiliary::balance) - 1.281257588) < kDigits);
  CHECK(std::abs(loss_of(softmax(2), Auxiliary::balance) - 1.166360820) < kDigits);
  auto config = softmax(2);
  config.z_loss_weight = config.importance_weight = config.sequence_balance_weight = 1;
  CHECK(std::abs(loss_of(config, Auxiliary::z) - 3.695958036) < kDigits);
  CHECK(std::abs(loss_of(config, Auxiliary::importance) - 0.400886554) < kDigits);
  CHECK(std::abs(loss_of(config, Auxiliary::sequence_balance) - 1.166360820) < kDigits);  // one sequence is the batch
  config.router = SigmoidTopKConfig{};
  CHECK(std::abs(loss_of(config, Auxiliary::sequence_balance) - 1.067124450) < kDigits);
  CHECK(std::abs(modules::squared_variation(doubles({5, 3, 2, 2})).item<double>() - 1.0 / 6) < kDigits);
  const auto routing = router_of(softmax(2))->forward(some_logits(), modules::ForwardContext{});
  CHECK(near(routing.load[0] * 12, doubles({5, 3, 2, 2})));
}

TEST_CASE("an expert that is full drops what comes later, second choices first", "[torch]") {
  const auto dropped = [](std::int64_t top_k, double factor) {
    auto config = four_experts(SoftmaxTopKConfig{}, top_k);
    config.capacity_factor = factor;
    return loss_of(config, Auxiliary::dropped) * static_cast<double>(6 * top_k);
  };
  CHECK(dropped(1, 1) == Approx(3));
  CHECK(dropped(1, 1.25) == Approx(3));
  CHECK(dropped(1, 2) == Approx(0).margin(1e-12));
  // Both tokens go to experts 0 and 1; the first of either choice fits.
  auto config = four_experts(SoftmaxTopKConfig{}, 2);
  config.capacity_factor = 1;
  const Tensor x = doubles({2, 1, -9, -9, 1, 2, -9, -9}).view({1, 2, 4});
  const auto routing = router_of(config)->forward(x, modules::training_context({0}, {1}, 0));
  const Tensor kept = routing.dense(routing.weight, 2, 4)[0].detach();
  CHECK(near(kept, doubles({0.731059, 0, 0, 0, 0, 0.731059, 0, 0}).view({2, 4})));
  const auto evaluated = router_of(config)->forward(x, modules::ForwardContext{});
  CHECK((evaluated.dense(evaluated.weight, 2, 4) > 0).sum().item<int>() == 4);  // nothing is dropped outside training
}

TEST_CASE("where experts choose, loads are equal and tokens differ", "[torch]") {
  const auto routing = router_of(four_experts(ExpertChoiceConfig{}, 2))->forward(some_logits(), modules::ForwardContext{});
  const Tensor chosen = (routing.dense(routing.weight, 6, 4) > 0).to(torch::kFloat64)[0];
  CHECK(near(chosen.sum(0), doubles({3, 3, 3, 3})));
  CHECK(near(std::get<0>(chosen.sum(1).sort()), doubles({1, 2, 2, 2, 2, 3})));
  CHECK(near(routing.dense(routing.weight, 6, 4)[0].detach(), some_logits()[0].softmax(-1) * chosen));
}

TEST_CASE("how likely a token keeps its experts under another draw of the noise", "[torch]") {
  const Tensor clean = some_logits(), deviation = torch::full_like(clean, std::log(2.0) + 0.01);
  CHECK(near(modules::probability_in_top_k(clean, clean, deviation, 2)[0][0], doubles({0.999096, 0.632229, 0.207219, 0.367771})));
}

TEST_CASE("noise of a router has mean 0 and the trained deviation, differs by step and seed, and ends with training", "[torch]") {
  const auto config = four_experts(NoisyTopKConfig{}, 2);
  const auto router = router_of(config);
  const Tensor flat = torch::zeros({1, 20000, 4}, torch::kFloat64);
  const auto first_share = [&](std::uint64_t seed, std::int64_t step) {
    return router->forward(flat, modules::training_context({0}, {seed}, step)).expert.eq(0).to(torch::kFloat64).detach();
  };
  const Tensor one = first_share(1, 0);
  CHECK(std::abs(one.mean().item<double>() - 0.25) < 0.01);  // every expert alike: four standard errors
  CHECK(torch::equal(one, first_share(1, 0)));
  CHECK_FALSE(torch::equal(one, first_share(1, 1)));
  CHECK_FALSE(torch::equal(one, first_share(2, 0)));
  const auto still = router->forward(flat, modules::ForwardContext{});
  CHECK(still.expert.view({20000, 2}).eq(torch::tensor({0, 1}, torch::kInt64)).all().item<bool>());
}
