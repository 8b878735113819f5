// Memories found by product keys, against numbers computed elsewhere in float64. test_golden_torch.cpp compares them with a search over
// all slots.
#include "ffn/layers/feed_forward_torch.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "support/catch.hpp"

using namespace ffn;
using torch::Tensor;

namespace {

/// One head of four half keys, sin and cos of 1 + i + 2j; values sin(r + 3c); every token's query is (0.5, -1, 2, 0.25).
std::shared_ptr<nn::FeedForward> some_memory(const FfnConfig& config) {
  auto memory = nn::make_ffn(1, 2, config, 0);
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

TEST_CASE("product keys find the best slots of all, and their values are added up by softmax weights", "[nn]") {
  const auto memory = some_memory(four_by_four());
  const auto out = memory->forward(torch::ones({1, 1, 2}, torch::kFloat64), nn::ForwardContext{});
  CHECK(is_value(out.y.detach(), {0.037060465, -0.096330367}));  // slots 4 and 8, weights 0.545366620 and 0.454633380
  CHECK(is_value(out.auxiliary.at(0), {2.0 / 16}));
  CHECK(is_value(out.auxiliary.at(1), {-0.545366620 * std::log(0.545366620) - 0.454633380 * std::log(0.454633380)}));
}

TEST_CASE("an expert of one hidden unit weighs its slot by its activation", "[nn]") {
  PeerConfig config;
  static_cast<MemoryFields&>(config) = four_by_four();
  config.activation = "relu";
  const auto memory = some_memory(config);
  {
    const torch::NoGradGuard no_grad;
    memory->named_parameters()["up"].zero_();
    memory->named_parameters()["up"][0][4].copy_(torch::tensor({1.0, 2.0}, torch::kFloat64));
    memory->named_parameters()["up"][0][8].copy_(torch::tensor({-1.0, -2.0}, torch::kFloat64));  // φ of it is 0
  }
  const auto y = memory->forward(torch::ones({1, 1, 2}, torch::kFloat64), nn::ForwardContext{}).y.detach();
  CHECK(is_value(y, {0.545366620 * 3 * std::sin(4), 0.545366620 * 3 * std::sin(7)}));
}

TEST_CASE("runs beside each other read their own slots", "[nn]") {
  PkmConfig config = four_by_four();
  config.heads = 3;
  const auto both = nn::make_ffn(2, 6, config, 0);
  nn::ParameterRow row(*both, torch::kFloat64);
  row.initialise({1, 2});
  const Tensor x = torch::cos(torch::arange(2 * 5 * 6, torch::kFloat64)).view({2, 5, 6});
  const auto out = both->forward(x, nn::ForwardContext{});
  for (std::int64_t r = 0; r < 2; ++r) {
    const auto one = nn::make_ffn(1, 6, config, 0);
    nn::ParameterRow alone(*one, torch::kFloat64);
    alone.import_run(0, row.export_run(r));
    const auto expected = one->forward(x.narrow(0, r, 1), nn::ForwardContext{});
    CHECK(torch::equal(expected.y[0], out.y[r]));
    CHECK(torch::equal(expected.auxiliary.at(1)[0], out.auxiliary.at(1)[r]));
  }
}
