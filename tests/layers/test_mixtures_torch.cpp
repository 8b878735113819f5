// Mixtures of experts, beside what holds for every FFN kind.
#include <algorithm>

#include "ffn/config/metrics.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "ffn/layers/router_torch.hpp"
#include "layers/feed_forwards.hpp"
#include "support/catch.hpp"

using namespace ffn;
using test::forward;
using test::kModel;
using test::some_input;
using torch::Tensor;

TEST_CASE("of experts that are equally likely a token goes to the first", "[torch]") {
  for (int experts = 2; experts <= 40; ++experts) {
    for (int top_k = 1; top_k <= std::min(experts, 3); ++top_k) {
      INFO(experts << " experts, top_k " << top_k);
      MoeConfig config;
      config.num_experts = experts;
      config.top_k = top_k;
      const auto router = modules::make_router(2, kModel, config, 0);
      modules::ParameterRow row(*router, torch::kFloat64);
      row.initialise({1, 2});
      const auto routing = router->forward(torch::zeros({2, 3, kModel}, torch::kFloat64), modules::ForwardContext{});
      CHECK(torch::equal(routing.expert.view({2, 3, top_k}), torch::arange(top_k, torch::kInt64).expand({2, 3, top_k})));
    }
  }
}

TEST_CASE("a router's triples name each token's experts with weights that add up to 1, and its one loss", "[torch]") {
  MoeConfig config;
  config.num_experts = 5;
  config.top_k = 2;
  const auto router = modules::make_router(2, kModel, config, 0);
  modules::ParameterRow row(*router, torch::kFloat64);
  row.initialise({1, 2});
  const auto routing = router->forward(some_input(2, 7), modules::ForwardContext{});
  CHECK(routing.token.equal(torch::tensor({0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}, torch::kInt64).expand({2, 14})));
  const Tensor dense = routing.dense(routing.weight, 7, 5);
  CHECK(dense.sum(-1).allclose(torch::ones({2, 7}, torch::kFloat64)));
  CHECK((dense > 0).sum(-1).eq(2).all().item<bool>());
  CHECK(routing.auxiliary.size() == auxiliary_losses([&] {
                                      ModelConfig model;
                                      model.ffn = config;
                                      return model;
                                    }())
                                        .size());
}

TEST_CASE("triples of tokens with different numbers of experts add up by token", "[torch]") {
  // Expert 0 takes tokens 2 and 0, expert 1 takes 2 and 2's neighbour 1: an expert's choice.
  modules::Routing routing{torch::tensor({{2, 0, 2, 1}}, torch::kInt64), torch::tensor({{0, 0, 1, 1}}, torch::kInt64),
                           torch::tensor({{0.5, 0.25, 2.0, 1.0}}, torch::kFloat64), /*per_token=*/0};
  const Tensor rows = torch::tensor({1.0, 10.0, 100.0, 1000.0}, torch::kFloat64).view({1, 4, 1});
  CHECK(routing.add_up(rows, 4).flatten().equal(torch::tensor({10.0, 1000.0, 101.0, 0.0}, torch::kFloat64)));
  CHECK(
      routing.dense(routing.weight, 4, 2).equal(torch::tensor({0.25, 0.0, 0.0, 1.0, 0.5, 2.0, 0.0, 0.0}, torch::kFloat64).view({1, 4, 2})));
}
