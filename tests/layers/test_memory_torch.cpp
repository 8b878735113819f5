// Memories found by product keys, against numbers computed elsewhere in float64. test_golden_torch.cpp compares them with a search over
// all slots.
#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "support/catch.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

/// One head of four half keys, sin and cos of 1 + i + 2j; values sin(r + 3c); every token's query is (0.5, -1, 2, 0.25).
std::shared_ptr<modules::FeedForward> some_memory(const FfnConfig& config) {
  auto memory = modules::make_ffn(1, 2, config, 0);
  memory->to(torch::kFloat64);
  const torch::NoGradGuard no_grad;
  auto parameters = memory->named_parameters();
  parameters["query.weight"].zero_();
  parameters["query.bias"].copy_(torch::tensor({0.5, -1.0, 2.0, 0.25}, torch::kFloat64).view({1, 4}));
  const Tensor i = torch::arange(4, torch::kFloat64).unsqueeze(1), j = torch::arange(2, torch::kFloat64);
  parameters["keys"].copy_(torch::stack({(1 + i + 2 * j).sin(), (1 + i + 2 * j).cos()}).view({1, 1, 2, 4, 2}));
  parameters["values"].copy_((torch::arange(16, torch::kFloat64).unsqueeze(1) + 3 * j).sin().unsqueeze(0));
  return memory;
}

PkmConfig four_by_four() {
  PkmConfig config;
  config.keys = 4;
  config.key_width = 4;
  config.heads = 1;
  config.top_k = 2;
  return config;
}

bool is_value(const Tensor& found, std::initializer_list<double> expected) {
  return (found.flatten() - torch::tensor(at::ArrayRef<double>(expected), torch::kFloat64)).abs().max().item<double>() < 1e-8;
}

}  // namespace

TEST_CASE("product keys find the best slots of all, and their values are added up by softmax weights", "[torch]") {
  const auto memory = some_memory(four_by_four());
  const auto out = memory->forward(torch::ones({1, 1, 2}, torch::kFloat64), modules::ForwardContext{});
  CHECK(is_value(out.y.detach(), {0.037060465, -0.096330367}));  // slots 4 and 8, weights 0.545366620 and 0.454633380
  CHECK(is_value(out.auxiliary.at(0), {2.0 / 16}));
  CHECK(is_value(out.auxiliary.at(1), {-0.545366620 * std::log(0.545366620) - 0.454633380 * std::log(0.454633380)}));
}
