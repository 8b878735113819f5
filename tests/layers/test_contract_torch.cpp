// What holds for every FFN kind and every activation, checked over the catalogues.
#include <set>

#include "ffn/base/error.hpp"
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

using Formula1 = std::function<Tensor(const Tensor&)>;

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

TEST_CASE("residual dropout scales or zeroes what a sub-layer adds, before the norm on its output, and nothing in evaluation", "[nn]") {
  constexpr double kRate = 0.25;
  ModelConfig config;
  config.d_model = kModel;
  config.residual = true;
  config.residual_dropout = kRate;
  PositionwiseConfig ffn;
  ffn.d_ff = 10;
  config.ffn = ffn;
  const Tensor x = some_input(1, 2000);
  const auto added = [&](const ModelConfig& model, std::uint32_t index, bool training) {
    nn::Block block(1, model, 1, index);
    nn::ParameterRow row(*block, torch::kFloat64);
    row.initialise({1});
    auto context = nn::training_context({0}, {7}, 0);
    context.training = training;
    return block(x, 1, context).y.detach() - x;
  };
  const Tensor all = added(config, 0, false), some = added(config, 0, true);
  const Tensor dropped = some.eq(0);
  CHECK(dropped.to(torch::kFloat64).mean().item<double>() == Approx(kRate).margin(0.02));  // of 2,000 · D: standard error below 0.005
  CHECK(torch::where(dropped, torch::zeros_like(all), some - all / (1 - kRate)).abs().max().item<double>() < 1e-6);  // masks are floats
  CHECK_FALSE(torch::equal(added(config, 1, true).eq(0), dropped));  // each block has its own draws

  ModelConfig normed = config;
  normed.norm.kind = "rms";
  normed.norm.placement = "sandwich";
  normed.norm.epsilon = 1e-30;
  const Tensor size = added(normed, 0, true).square().mean(-1).sqrt();
  CHECK((size - 1).abs().max().item<double>() < 1e-12);  // normed after the dropout: each token adds a vector of size 1

  ModelConfig attends = config;
  attends.ffn = NoFfnConfig{};
  attends.attention.emplace();
  attends.attention->heads = 1;
  const Tensor of_attention = added(attends, 0, true).eq(0);
  CHECK(of_attention.to(torch::kFloat64).mean().item<double>() == Approx(kRate).margin(0.02));
  CHECK_FALSE(torch::equal(of_attention, dropped));
}

TEST_CASE("a tied head multiplies by the embedding and adds its own bias", "[nn]") {
  ModelConfig config;
  config.d_model = 2;
  config.ffn = NoFfnConfig{};
  config.positions = "none";
  config.tie = true;
  nn::Network network(1, config, TaskShape{true, 3, 2, 3});
  nn::ParameterRow row(*network, torch::kFloat64);
  REQUIRE(row.entries().size() == 2);
  const torch::NoGradGuard no_grad;
  auto parameters = network->named_parameters();
  parameters["embedding"].copy_(torch::tensor({1.0, 2.0, 0.0, -1.0, 3.0, 0.5}, torch::kFloat64).view({1, 3, 2}));
  parameters["head.bias"].copy_(torch::tensor({10.0, 20.0, 30.0}, torch::kFloat64).view({1, 3}));
  const Tensor tokens = torch::tensor({2, 0}, torch::kInt64).view({1, 1, 2});
  // (3, 0.5) and (1, 2) times the rows (1, 2), (0, -1), (3, 0.5)
  const Tensor expected = torch::tensor({14.0, 19.5, 39.25, 15.0, 18.0, 34.0}, torch::kFloat64).view({1, 2, 3});
  CHECK(torch::equal(network(tokens, nn::ForwardContext{}).outputs, expected));
}

TEST_CASE("a block computes the formula of its norm placement", "[nn]") {
  // FFN and norms are taken out of the block and put together by hand.
  using Formula = std::function<Tensor(const Tensor& x, const Formula1& before, const Formula1& f, const Formula1& after)>;
  const std::map<std::string, Formula> formulas = {
      {"pre", [](auto& x, auto& before, auto& f, auto&) { return x + f(before(x)); }},
      {"post", [](auto& x, auto&, auto& f, auto& after) { return after(x + f(x)); }},
      {"sandwich", [](auto& x, auto& before, auto& f, auto& after) { return x + after(f(before(x))); }},
  };
  CHECK(formulas.size() == norm_placements().size());
  for (const auto& [placement, formula] : formulas) {
    INFO(placement);
    ModelConfig config;
    config.d_model = kModel;
    config.norm.kind = "rms";
    config.norm.placement = placement;
    config.residual = true;
    config.ffn = PositionwiseConfig{};
    nn::Block block(1, config, 1, 0);
    nn::ParameterRow row(*block, torch::kFloat64);
    test::fill_by_formula(row, 0);
    const auto parts = block->named_children();
    const auto norm = [&](const char* name) -> Formula1 {
      return [&parts, name](const Tensor& x) { return parts[name]->as<nn::NormImpl>()->forward(x); };
    };
    const Formula1 ffn = [&](const Tensor& x) { return parts["ffn"]->as<nn::FeedForward>()->forward(x, {}).y; };
    const Tensor x = test::formula_tensor("x", {1, 3, kModel});
    CHECK(torch::equal(block->forward(x, 1, {}).y, formula(x, norm("ffn_norm"), ffn, norm("ffn_post_norm"))));
  }
}

TEST_CASE("blocks that share their FFN compute what blocks with equal FFNs do, and drop other units", "[nn]") {
  ModelConfig config;
  config.d_model = kModel;
  config.blocks = 2;
  config.residual = true;
  config.ffn = PositionwiseConfig{};
  const TaskShape task{false, 3, 1, 4};
  nn::Network apart(1, config, task);
  config.share_ffn = true;
  nn::Network shared(1, config, task);
  nn::ParameterRow row(*shared, torch::kFloat64), rows(*apart, torch::kFloat64);
  CHECK(row.num_parameters() == model_cost(config, task).total.parameters);
  test::fill_by_formula(row, 0);
  auto weights = row.export_run(0);
  for (auto tensor : row.export_run(0)) {
    if (tensor.name.rfind("block0.", 0) != 0) continue;
    tensor.name.replace(0, 7, "block1.");
    weights.push_back(tensor);
  }
  rows.import_run(0, weights);
  const Tensor x = test::formula_tensor("x", {1, 5, 3});
  auto context = nn::training_context({0.5}, {7}, 0);  // the masks of a block are those that it has without sharing
  for (const bool training : {false, true}) {
    context.training = training;
    CHECK(torch::equal(shared(x, context).outputs, apart(x, context).outputs));
  }
}

TEST_CASE("a parallel block adds attention and FFN of one norm", "[nn]") {
  ModelConfig config;
  config.d_model = kModel;
  config.norm.kind = "layer";
  config.residual = true;
  config.parallel = true;
  config.attention.emplace();
  config.attention->heads = 2;
  config.ffn = PositionwiseConfig{};
  nn::Block block(1, config, 3, 0);
  nn::ParameterRow row(*block, torch::kFloat64);
  test::fill_by_formula(row, 0);
  const auto parts = block->named_children();
  CHECK(parts.size() == 3);
  const Tensor x = test::formula_tensor("x", {1, 3, kModel}), in = parts["input_norm"]->as<nn::NormImpl>()->forward(x);
  const Tensor attended = parts["attention"]->as<nn::AttentionImpl>()->forward(in, 3);
  const Tensor fed = parts["ffn"]->as<nn::FeedForward>()->forward(in, {}).y;
  CHECK((block->forward(x, 3, {}).y - (x + attended + fed)).abs().max().item<double>() < 1e-14);
}

TEST_CASE("causal attention does not look ahead", "[nn]") {
  for (const char* scores : {"content", "position"}) {
    AttentionConfig config;
    config.heads = 2;
    config.scores = scores;
    nn::Attention attention(1, kModel, 5, config);
    nn::ParameterRow row(*attention, torch::kFloat64);
    row.initialise({3});
    const Tensor x = some_input(1, 5);
    Tensor changed = x.clone();
    changed.select(1, 4).add_(1);
    const Tensor a = attention(x, 5), b = attention(changed, 5);
    CHECK(torch::equal(a.narrow(1, 0, 4), b.narrow(1, 0, 4)));
    CHECK_FALSE(torch::equal(a.select(1, 4), b.select(1, 4)));
  }
}

TEST_CASE("weights that do not fit are refused with the list of differences", "[nn]") {
  PositionwiseConfig config;
  config.d_ff = 3;
  const auto ffn = nn::make_ffn(1, 2, config, 0);
  nn::ParameterRow row(*ffn);
  auto weights = row.export_run(0);
  weights[0].shape = {2, 3};
  weights[1].dtype = DType::f64;
  weights[2].name = "down.wait";
  try {
    row.import_run(0, weights);
    FAIL("accepted");
  } catch (const CheckpointError& error) {
    const std::string what = error.what();
    INFO(what);
    for (const char* name : {"up.weight", "up.bias", "down.weight", "down.wait"}) CHECK(what.find(name) != std::string::npos);
  }
}

TEST_CASE("the same seed gives a parameter the same values in every model that has it", "[nn]") {
  ModelConfig with, without;
  with.attention.emplace();
  const TaskShape task{true, 7, 5, 4};
  nn::Network a(1, with, task), b(1, without, task);
  nn::ParameterRow row_a(*a), row_b(*b);
  row_a.initialise({9});
  row_b.initialise({9});
  int shared = 0;
  for (const auto& x : row_a.export_run(0)) {
    for (const auto& y : row_b.export_run(0)) {
      if (x.name != y.name) continue;
      CHECK(x.bytes == y.bytes);
      ++shared;
    }
  }
  CHECK(shared == 8);
}
