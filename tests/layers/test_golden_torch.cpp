// Outputs and every gradient against PyTorch's, float64 (scripts/generate/golden wrote the values).
#include <fstream>
#include <nlohmann/json.hpp>

#include "ffn/layers/attention_torch.hpp"
#include "ffn/layers/moe_torch.hpp"
#include "ffn/layers/norm_torch.hpp"
#include "support/catch.hpp"
#include "support/choices.hpp"
#include "support/layers.hpp"
#include "support/worst.hpp"

using namespace ffn;
using nlohmann::json;

namespace {

const json& golden() {
  static const json document = [] {
    std::ifstream in(std::string(FFN_SOURCE_DIR) + "/tests/golden/layers.json");
    return json::parse(in);
  }();
  return document;
}
std::int64_t size(const char* name) { return golden()["shape"][name].get<std::int64_t>(); }

// Both sides compute in float64; what is left is the order of sums. tanh, exp and erf agree to a few ulp.
constexpr double kTolerance = 1e-12;

void compare(const std::string& what, const torch::Tensor& found, const json& expected) {
  const auto flat = found.contiguous().view(-1);
  REQUIRE(flat.numel() == static_cast<std::int64_t>(expected.size()));
  test::Worst worst;
  for (std::int64_t i = 0; i < flat.numel(); ++i) worst.add(flat[i].item<double>() - expected[static_cast<size_t>(i)].get<double>(), i);
  INFO(what << ": largest difference " << worst.error() << " at " << worst.where());
  CHECK(worst.error() < kTolerance);
}

struct Result {
  torch::Tensor y, balance_loss;
};

// Runs the layer with R = 2, of which run 1 has the formula's weights and run 0 has others, and compares run 1.
template <class Module, class Forward>
void check_case(const std::string& name, Module module, const Forward& forward) {
  INFO("no values of PyTorch for " << name << "? run scripts/generate/golden");
  REQUIRE(golden()["cases"].contains(name));
  const json& expected = golden()["cases"].at(name);
  modules::ParameterRow row(*module, torch::kFloat64);
  row.initialise({11, 12});
  test::fill_by_formula(row, 1);
  torch::Tensor x = test::formula_tensor("input", {size("B") * size("T"), size("D")}).unsqueeze(0).repeat({2, 1, 1}).requires_grad_();

  const Result result = forward(module, x);
  torch::Tensor loss = (result.y * test::formula_tensor("cotangent", {size("B") * size("T"), size("D")})).sum();
  if (result.balance_loss.defined()) loss = loss + 0.1 * result.balance_loss.sum();
  loss.backward();

  compare(name + " y", result.y.detach()[1], expected["y"]);
  compare(name + " input gradient", x.grad()[1], expected["input_gradient"]);
  if (expected.contains("balance_loss")) {
    CHECK(std::abs(result.balance_loss[1].template item<double>() - expected["balance_loss"].get<double>()) < kTolerance);
  }
  // Gradients in the weights' file layout: put them where the values are and export.
  row.values().copy_(row.gradients());
  const auto gradients = row.export_run(1);
  CHECK(gradients.size() == expected["gradients"].size());
  for (const auto& g : gradients) {
    std::vector<std::int64_t> shape = g.shape;
    compare(name + " " + g.name, torch::from_blob(const_cast<char*>(g.bytes.data()), shape, torch::kFloat64).clone(),
            expected["gradients"].at(g.name));
  }
}

template <class Config>
Config sized(const std::string& activation, bool bias = true) {
  Config config = test::usable(Config{});
  if constexpr (std::is_base_of_v<MemoryFields, Config>) {
    config.heads = size("H");
    config.keys = 3;
    config.key_width = 4;
    config.top_k = 2;
  } else {
    config.d_ff = size("F");
  }
  if constexpr (!std::is_same_v<Config, PkmConfig>) config.activation = activation;
  config.bias = bias;
  return config;
}

void check_ffn(const std::string& name, const FfnConfig& config) {
  check_case(name, modules::make_ffn(2, size("D"), config, 0), [](auto& module, const torch::Tensor& x) {
    const auto out = module->forward(x, modules::ForwardContext{});
    return Result{out.y, out.auxiliary.empty() ? torch::Tensor() : out.auxiliary[0]};
  });
}

}  // namespace

TEST_CASE("every FFN but mixtures equals PyTorch's, gradients included, with every activation and without biases", "[torch]") {
  std::size_t kinds = 0;
  test::each_alternative(FfnConfig{}, [&](auto ffn) {
    using Kind = decltype(ffn);
    if constexpr (!std::is_same_v<Kind, MoeConfig> && !std::is_same_v<Kind, NoFfnConfig>) {
      for (const auto& phi : activations()) check_ffn(std::string(Kind::kKind) + "/" + phi.name, sized<Kind>(phi.name));
      check_ffn(std::string(Kind::kKind) + "/no_bias", sized<Kind>("gelu", false));
      ++kinds;
    }
  });
  CHECK(kinds == std::variant_size_v<FfnConfig> - 2);  // mixtures follow; "none" computes nothing
}

TEST_CASE("a mixture equals the sum over all experts with a mask, gradients and balance loss included, for every router", "[torch]") {
  test::each_alternative(RouterConfig{}, [](auto router) {
    const std::string name = std::string("moe/") + router.kKind;
    auto config = sized<MoeConfig>("gelu");
    config.router = router;
    config.num_experts = size("E");
    config.top_k = size("K");
    check_ffn(name + "/plain", config);
    config.activation = "silu";
    config.gated = true;
    check_ffn(name + "/gated", config);
  });
}

TEST_CASE("attention by content and by position equals PyTorch's", "[torch]") {
  for (const bool causal : {true, false}) {
    for (const auto& scores : test::choices("model.attention.scores")) {
      AttentionConfig config;
      config.heads = size("H");
      config.causal = causal;
      config.scores = scores;
      modules::Attention attention(2, size("D"), size("T"), config);
      check_case("attention/" + scores + (causal ? "/causal" : ""), attention.ptr(), [](auto& module, const torch::Tensor& x) {
        return Result{module->forward(x, size("T")), {}};
      });
    }
  }
}

TEST_CASE("rotary attention equals PyTorch's, in both layouts", "[torch]") {
  for (const auto& layout : test::choices("model.attention.rotary_layout")) {
    AttentionConfig config;
    config.heads = 1;  // of four numbers, so that there are two pairs
    config.rotary_layout = layout;
    config.rotary_base = 50;
    modules::Attention attention(2, size("D"), size("T"), config, /*rotary=*/true);
    check_case("attention/rotary/" + layout, attention.ptr(), [](auto& module, const torch::Tensor& x) {
      return Result{module->forward(x, size("T")), {}};
    });
  }
}

TEST_CASE("attention with normed queries and keys equals PyTorch's", "[torch]") {
  AttentionConfig config;
  config.heads = size("H");
  config.qk_norm = true;
  modules::Attention attention(2, size("D"), size("T"), config);
  check_case("attention/qk_norm", attention.ptr(), [](auto& module, const torch::Tensor& x) {
    return Result{module->forward(x, size("T")), {}};
  });
}

TEST_CASE("LayerNorm and RMSNorm equal PyTorch's", "[torch]") {
  for (const auto& kind : test::choices("model.norm.kind")) {
    if (kind == "none") continue;
    NormConfig config;
    config.kind = kind;
    modules::Norm norm(2, size("D"), config);
    check_case("norm/" + kind, norm.ptr(), [](auto& module, const torch::Tensor& x) { return Result{module->forward(x), {}}; });
  }
}
