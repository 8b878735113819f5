// The layers that other programs build with: <ffn/layers.hpp>.
#include <filesystem>

#include "ffn/layers/package_torch.hpp"
#include "support/catch.hpp"

namespace {

torch::Tensor input() { return torch::linspace(-2, 2, 2 * 3 * 8).view({2, 3, 8}); }  // (B, T, D)

}  // namespace

TEST_CASE("a saved layer loads with the same outputs, under any prefix, and refuses what does not fit") {
  const auto path = (std::filesystem::temp_directory_path() / "ffn-package.safetensors").string();
  ffn::FeedForward a(8, R"({"kind": "moe", "num_experts": 4})", 1), b(8, R"({"kind": "moe", "num_experts": 4})", 2);
  a->eval();
  b->eval();
  CHECK_FALSE(torch::equal(a(input()), b(input())));
  a->save(path, "block3.ffn.");
  b->load(path, "block3.ffn.");
  CHECK(torch::equal(a(input()), b(input())));
  CHECK_THROWS_WITH(b->load(path), Catch::Matchers::Contains("missing: "));
  CHECK_THROWS_WITH(ffn::GatedFeedForward(8)->load(path, "block3.ffn."), Catch::Matchers::Contains("gate.weight"));
  std::filesystem::remove(path);
}

TEST_CASE("a layer in double precision, moved after its start, saves what it holds") {
  const auto path = (std::filesystem::temp_directory_path() / "ffn-package-2.safetensors").string();
  ffn::PositionwiseFeedForward a(8, R"({"activation": "relu"})"), b(8, R"({"activation": "relu"})", 1);
  a->to(torch::kFloat64);  // new storage for each parameter
  const torch::NoGradGuard no_grad;
  for (auto& p : a->parameters()) p.mul_(2);
  a->save(path);
  b->load(path);
  CHECK(torch::allclose(b(input()).to(torch::kFloat64), a(input().to(torch::kFloat64)), 1e-5, 1e-6));  // float32 in the file
  std::filesystem::remove(path);
}

TEST_CASE("a mixture's weighted balance loss has a gradient; other layers have none") {
  ffn::MoE moe(8, R"({"num_experts": 4, "balance_weight": 0.5})");
  const auto [y, loss] = moe->forward_with_loss(input());
  CHECK(y.sizes() == input().sizes());
  CHECK(loss.item<double>() >= 0.5);  // at least 1, for an even load, times its weight
  loss.backward();
  CHECK(moe->named_parameters()["router.gate.weight"].grad().abs().sum().item<double>() > 0);
  CHECK(ffn::Formula(8, R"({"name": "swiglu"})")->forward_with_loss(input()).second.item<double>() == 0);
}

TEST_CASE("dropout acts in training, anew with each call, and not in evaluation") {
  ffn::PositionwiseFeedForward layer(8, R"({"dropout": 0.5})");
  CHECK_FALSE(torch::equal(layer(input()), layer(input())));
  layer->eval();
  CHECK(torch::equal(layer(input()), layer(input())));
}

TEST_CASE("a config that cannot be met is refused with its problem") {
  CHECK_THROWS_WITH(ffn::GatedFeedForward(8, R"({"activation": "sliu"})"), Catch::Matchers::Contains("silu"));
  CHECK_THROWS_WITH(ffn::GatedFeedForward(8, R"({"kind": "moe"})"),
                    Catch::Matchers::Contains("use FeedForward") || Catch::Matchers::Contains("of kind gated"));
  CHECK_THROWS_WITH(ffn::FeedForward(8, R"({"kind": "none"})"), Catch::Matchers::Contains("not a layer"));
  CHECK_THROWS_WITH(ffn::MoE(8, R"({"router": {"bias_step": 0.001}})"), Catch::Matchers::Contains("bias_step"));
  CHECK_THROWS_WITH(ffn::GatedFeedForward(8)(torch::zeros({2, 7})), Catch::Matchers::Contains("(N, 8)"));
}
