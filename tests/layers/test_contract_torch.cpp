// Properties of every FFN kind and every activation, checked over the catalogues.
#include <set>

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

TEST_CASE("an FFN commutes with a permutation of the tokens", "[torch]") {
  const Tensor order = torch::tensor({3, 0, 6, 1, 5, 2, 4}, torch::kInt64);
  for (const auto& [name, config] : all_ffns("silu")) {
    INFO(name);
    const auto ffn = modules::make_ffn(2, kModel, config, 0);
    modules::ParameterRow row(*ffn, torch::kFloat64);
    row.initialise({1, 2});
    const Tensor x = some_input(2, 7);
    const Tensor a = forward(*ffn, x).index_select(1, order), b = forward(*ffn, x.index_select(1, order));
    CHECK((a - b).abs().max().item<double>() < 1e-14);  // sums over D in another block of the product
  }
}

TEST_CASE("an FFN's roles are those of its parameters", "[torch]") {
  for (const auto& [name, config] : all_ffns()) {
    INFO(name);
    const auto ffn = modules::make_ffn(1, kModel, config, 0);
    const modules::ParameterRow row(*ffn, torch::kFloat64);
    std::set<std::string> found, said;
    for (const auto& entry : row.entries()) {
      if (entry.role != Role::buffer) found.insert(role_name(entry.role));
    }
    for (const Role role : std::visit([](const auto& kind) { return kind.roles(); }, config)) said.insert(role_name(role));
    CHECK(said == found);
  }
}

TEST_CASE("gradients of every activation in every FFN kind pass a finite-difference check", "[torch]") {
  int checked = 0;
  for (const auto& phi : activations()) {
    // Inputs by formula keep pre-activations away from 0, where a kink would make differences meaningless.
    for (const auto& [name, config] : all_ffns(phi.name)) {
      const auto ffn = modules::make_ffn(2, kModel, config, 0);
      modules::ParameterRow row(*ffn, torch::kFloat64);
      row.initialise({4, 5});
      Tensor x = some_input(2, 3).clone().requires_grad_();
      const auto scalar = [&] {
        const auto out = ffn->forward(x, modules::ForwardContext{});
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

TEST_CASE("whole networks have the parameters of the closed formula", "[torch]") {
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
            modules::Network network(1, config, task);
            CHECK(modules::ParameterRow(*network).num_parameters() == model_cost(config, task).total.parameters);
            ++checked;
          }
        }
      }
    }
  }
  CHECK(checked == 2 * 3 * 3 * 3 * static_cast<int>(all_ffns().size()));
}
