// What holds for every FFN kind and every activation, checked over the catalogues.
#include "ffn/config/accounting.hpp"
#include "ffn/layers/network_torch.hpp"
#include "layers/feed_forwards.hpp"
#include "support/catch.hpp"
#include "support/choices.hpp"
#include "support/layers.hpp"
#include "support/worst.hpp"

using namespace ffn;
using test::forward;
using test::kModel;
using test::some_input;
using torch::Tensor;

namespace {

// Every kind with the features that change its shape.
std::vector<std::pair<std::string, FfnConfig>> all_ffns(const std::string& activation = "gelu") {
  std::vector<std::pair<std::string, FfnConfig>> out;
  for (const bool bias : {true, false}) {
    const std::string suffix = bias ? "" : " without bias";
    test::each_ffn([&](auto config) {
      using Kind = decltype(config);
      if constexpr (std::is_base_of_v<FfnSize, Kind>) {
        config.d_ff = 10;
        config.activation = activation;
        config.bias = bias;
        std::string name = Kind::kKind + suffix;
        if constexpr (std::is_same_v<Kind, MoeConfig>) {
          name += std::visit([](const auto& router) { return std::string(", ") + router.kKind; }, config.router);
          config.num_experts = 5;
          config.gated = true;
          out.emplace_back(name + " of gated", config);
          config.gated = false;
        }
        out.emplace_back(name, config);
      } else if constexpr (std::is_base_of_v<MemoryFields, Kind>) {
        config.keys = 4;
        config.key_width = 6;
        config.top_k = 3;
        config.bias = bias;
        config.query_norm = !bias;
        if constexpr (std::is_same_v<Kind, PeerConfig>) config.activation = activation;
        out.emplace_back(Kind::kKind + suffix, config);
      }
    });
  }
  REQUIRE(out.size() == 2 * (test::kNumFfns - 1 + std::variant_size_v<RouterConfig>));  // all but "none", mixtures twice
  return out;
}

}  // namespace

TEST_CASE("every FFN keeps the shape of its input and has the parameters of the closed formula", "[nn]") {
  for (const auto& [name, config] : all_ffns()) {
    INFO(name);
    const auto ffn = nn::make_ffn(3, kModel, config, 0);
    nn::ParameterRow row(*ffn, torch::kFloat64);
    row.initialise({1, 2, 3});
    CHECK(row.num_parameters() == ffn_cost(config, kModel).parameters);
    CHECK(forward(*ffn, some_input(3, 7)).sizes() == torch::IntArrayRef({3, 7, kModel}));
  }
}

TEST_CASE("an FFN commutes with a permutation of the tokens", "[nn]") {
  const Tensor order = torch::tensor({3, 0, 6, 1, 5, 2, 4}, torch::kInt64);
  for (const auto& [name, config] : all_ffns("silu")) {
    INFO(name);
    const auto ffn = nn::make_ffn(2, kModel, config, 0);
    nn::ParameterRow row(*ffn, torch::kFloat64);
    row.initialise({1, 2});
    const Tensor x = some_input(2, 7);
    const Tensor a = forward(*ffn, x).index_select(1, order), b = forward(*ffn, x.index_select(1, order));
    CHECK((a - b).abs().max().item<double>() < 1e-14);  // sums over D in another block of the product
  }
}

TEST_CASE("gradients of every activation in every FFN kind pass a finite-difference check", "[nn]") {
  int checked = 0;
  for (const auto& phi : activations()) {
    // Inputs by formula keep pre-activations away from 0, where a kink would make differences meaningless.
    for (const auto& [name, config] : all_ffns(phi.name)) {
      const auto ffn = nn::make_ffn(2, kModel, config, 0);
      nn::ParameterRow row(*ffn, torch::kFloat64);
      row.initialise({4, 5});
      Tensor x = some_input(2, 3).clone().requires_grad_();
      const auto scalar = [&] {
        const auto out = ffn->forward(x, nn::ForwardContext{});
        Tensor loss = (out.y * torch::sin(torch::arange(out.y.numel(), torch::kFloat64)).view_as(out.y)).sum();
        return out.auxiliary.empty() ? loss : loss + out.auxiliary[0].sum();
      };
      test::Worst worst;
      worst.add(test::gradient_error(scalar, x), "the input");
      for (auto& p : ffn->named_parameters()) worst.add(test::gradient_error(scalar, p.value()), p.key());
      INFO(name << " " << phi.name << ", worst at " << worst.where());
      CHECK(worst.error() < 1e-7);  // a right backward is near 1e-10, a wrong factor near 1
      ++checked;
    }
  }
  CHECK(checked == static_cast<int>(activations().size() * all_ffns().size()));
}

TEST_CASE("a ReLU FFN without bias is homogeneous of degree 1, a bilinear one of degree 2", "[nn]") {
  const auto check = [](const FfnConfig& config, double degree) {
    const auto ffn = nn::make_ffn(1, kModel, config, 0);
    nn::ParameterRow row(*ffn, torch::kFloat64);
    row.initialise({1});
    const Tensor x = some_input(1, 5), once = forward(*ffn, x), thrice = forward(*ffn, 3 * x);
    CHECK((thrice - std::pow(3, degree) * once).abs().max().item<double>() < 1e-13);
  };
  PositionwiseConfig relu;
  relu.activation = "relu";
  relu.bias = false;
  check(relu, 1);
  GatedConfig bilinear;
  bilinear.activation = "identity";
  bilinear.bias = false;
  check(bilinear, 2);
}

TEST_CASE("convolutions of kernel 1 are the plain layer: the same numbers from the same seed", "[nn]") {
  for (const bool bias : {true, false}) {
    PositionwiseConfig plain;
    plain.bias = bias;
    Conv1x1Config convolved;
    convolved.bias = bias;
    const auto value = [&](const FfnConfig& config) {
      const auto ffn = nn::make_ffn(3, kModel, config, 0);
      nn::ParameterRow row(*ffn, torch::kFloat64);
      row.initialise({1, 2, 3});
      return forward(*ffn, some_input(3, 5));
    };
    const Tensor expected = value(plain);
    CHECK((value(convolved) - expected).abs().max().item<double>() < 1e-14);
    CHECK(expected.abs().max().item<double>() > 0.01);
  }
}

TEST_CASE("a 2×2 ReLU FFN computed by hand", "[nn]") {
  PositionwiseConfig config;
  config.activation = "relu";
  config.d_ff = 2;
  const auto ffn = nn::make_ffn(1, 2, config, 0);
  nn::ParameterRow row(*ffn, torch::kFloat64);
  auto weights = row.export_run(0);
  const auto set = [&](const std::string& name, std::vector<double> values) {
    for (auto& w : weights) {
      if (w.name == name) w.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    }
  };
  set("up.weight", {1, 2, -1, 1});  // (F, D): hidden 0 = x0 + 2 x1 + 1, hidden 1 = -x0 + x1 - 1
  set("up.bias", {1, -1});
  set("down.weight", {1, 10, 2, 0});  // (D, F): y0 = h0 + 10 h1 + 0.5, y1 = 2 h0 - 0.5
  set("down.bias", {0.5, -0.5});
  row.import_run(0, weights);
  const Tensor x = torch::tensor({1.0, 2.0, -3.0, 0.0}, torch::kFloat64).view({1, 2, 2});
  // token (1, 2): h = (6, 0) → (6.5, 11.5); token (-3, 0): h = (0, 2) → (20.5, -0.5)
  CHECK(torch::equal(forward(*ffn, x), torch::tensor({6.5, 11.5, 20.5, -0.5}, torch::kFloat64).view({1, 2, 2})));
}

TEST_CASE("dropout keeps the mean, drops its share, and is the identity in evaluation", "[nn]") {
  const Tensor h = torch::ones({2, 50, 400});
  auto context = nn::training_context({0.25, 0.5}, {1, 2}, 0);
  const Tensor out = nn::dropout(h, context, 0);
  // 20 000 draws: standard error of the share 0.003
  CHECK(out[0].eq(0).to(torch::kFloat64).mean().item<double>() == Approx(0.25).margin(0.015));
  CHECK(out[1].eq(0).to(torch::kFloat64).mean().item<double>() == Approx(0.5).margin(0.015));
  CHECK(out.mean().item<double>() == Approx(1.0).margin(0.02));
  CHECK(torch::equal(nn::dropout(h, context, 0), out));
  CHECK_FALSE(torch::equal(nn::dropout(h, context, 1), out));
  context.step_number.fill_(1);
  CHECK_FALSE(torch::equal(nn::dropout(h, context, 0), out));
  context.training = false;
  CHECK(torch::equal(nn::dropout(h, context, 0), h));
}

TEST_CASE("whole networks have the parameters of the closed formula", "[nn]") {
  int checked = 0;
  for (const bool tokens : {true, false}) {
    const TaskShape task{tokens, tokens ? 7 : 3, tokens ? 5 : 1, 4};
    for (const char* norm : {"none", "layer", "rms"}) {
      for (const char* placement : {"pre", "post", "sandwich"}) {
        for (const char* scores : {"", "content", "position"}) {
          for (const auto& [name, ffn] : all_ffns()) {
            ModelConfig config;
            config.d_model = kModel;
            config.blocks = 2;
            config.norm.kind = norm;
            config.norm.placement = placement;
            config.residual = true;
            config.ffn = ffn;
            if (*scores) {
              config.attention.emplace();
              config.attention->heads = 2;
              config.attention->scores = scores;
            }
            nn::Network network(1, config, task);
            CHECK(nn::ParameterRow(*network).num_parameters() == model_cost(config, task).total.parameters);
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked == 2 * 3 * 3 * 3 * static_cast<int>(all_ffns().size()));
}
