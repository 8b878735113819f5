// Metrics of layers while they train, against networks whose answer is known, and against `inspect` on the same tokens.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "ffn/config/metrics.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/inspect/experts.hpp"
#include "ffn/inspect/neurons.hpp"
#include "ffn/train/layer_meter.hpp"
#include "inspect/hand_made.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using hand_made::kPairs;
using hand_made::model_with;

namespace {

ExampleSet corners() {
  ExampleSet set;
  set.count = 4;
  set.shared = true;
  set.vectors = {1, 1, 1, -1, -1, 1, -1, -1};
  return set;
}

}  // namespace

TEST_CASE("the metrics of a hidden layer are those of a network made by hand") {
  // Unit 0 fires where x0 > 0, unit 1 where x0 < 0, unit 2 never, unit 3 always.
  hand_made::Made made(model_with(PositionwiseConfig{}, 4), kPairs,
                       {{"projection.weight", hand_made::kIdentity},
                        {"block0.ffn.up.weight", {1, -1, 0, 0, 0, 0, 0, 0}},
                        {"block0.ffn.up.bias", {0, 0, -1, 1}}});
  LayerMeter meter(made.model, kPairs, corners());
  const auto values = mean_of(meter.measure(0, made.row.data()));
  CHECK(values.zero_fraction == Approx(0.5));  // 2 + 2 + 4 + 0 of 16
  CHECK(values.near_zero_fraction == Approx(0.5));
  CHECK(values.dead_units == Approx(0.25));
  CHECK(values.effective_rank == Approx(1.9286).epsilon(1e-4));  // h3 = h0 + h1: singular values sqrt 2 and sqrt 6
  CHECK(values.load_entropy == 0);
}

TEST_CASE("a formula that ends in a map has the metrics of what the map reads, another one none") {
  FormulaConfig config;
  config.text.parameters = Json::parse(R"({"up": ["D", "F"], "b": ["F"], "down": ["F", "D"]})");
  const std::map<std::string, std::vector<float>> values{
      {"projection.weight", hand_made::kIdentity}, {"block0.ffn.up", {1, -1, 0, 0, 0, 0, 0, 0}}, {"block0.ffn.b", {0, 0, -1, 1}}};
  for (const bool ends_in_map : {true, false}) {
    config.text.formula = ends_in_map ? "max(x @ up + b, 0) @ down" : "x - max(x @ up + b, 0) @ down";
    RunConfig run;
    run.train.layer_metrics = true;
    run.model = model_with(config, 4);
    CHECK(is_logged(metric::kFfnDeadUnits, run) == ends_in_map);
    hand_made::Made made(run.model, kPairs, values);
    LayerMeter meter(made.model, kPairs, corners());
    CHECK(mean_of(meter.measure(0, made.row.data())).dead_units == (ends_in_map ? 0.25 : 0));
    hand_made::show_corners(made);
    CHECK(made.values().at(0).hidden.empty() != ends_in_map);  // what is no neuron is not shown as one
  }
}

TEST_CASE("activations that are small beside the others are near zero, and a unit of such alone is dead") {
  hand_made::Made made(model_with(PositionwiseConfig{}, 2), kPairs,
                       {{"projection.weight", hand_made::kIdentity}, {"block0.ffn.up.bias", {100, 0.5}}});
  LayerMeter meter(made.model, kPairs, corners());
  const auto values = mean_of(meter.measure(0, made.row.data()));
  CHECK(values.zero_fraction == 0);
  CHECK(values.near_zero_fraction == Approx(0.5));  // 0.5 is below 0.01 · 70.7
  CHECK(values.dead_units == Approx(0.5));
}

TEST_CASE("the metrics of a mixture count its experts' tokens, and what nothing is sent to is dead") {
  MoeConfig config;
  config.num_experts = 4;
  config.top_k = 1;
  // x0 > 0 goes to expert 2, the others to expert 0.
  hand_made::Made made(model_with(config, 2), kPairs,
                       {{"projection.weight", hand_made::kIdentity},
                        {"block0.ffn.router.gate.weight", {-3, 0, 3, 0, 0, 0, 0, 0}},
                        {"block0.ffn.experts.up.bias", {1, 1, 1, 1, 1, 1, 1, 1}}});
  LayerMeter meter(made.model, kPairs, corners());
  const auto values = mean_of(meter.measure(0, made.row.data()));
  CHECK(values.load_entropy == Approx(std::log(2)));
  CHECK(values.max_violation == Approx(1));  // half of the tokens, where a quarter is even
  CHECK(values.dead_experts == Approx(0.5));
  const double sum = std::exp(3) + 2 + std::exp(-3);  // of the logits 3, 0, 0, -3
  CHECK(values.token_entropy == Approx(std::log(sum) - 3 * (std::exp(3) - std::exp(-3)) / sum));
  CHECK(values.dead_units == Approx(0.5));
  CHECK(values.effective_rank == Approx(1));
}

TEST_CASE("a router is as pure as its experts keep the groups apart") {
  MoeConfig config;
  config.num_experts = 2;
  config.top_k = 1;
  // x0 > 0 goes to expert 1, the others to expert 0.
  hand_made::Made made(model_with(config, 2), kPairs,
                       {{"projection.weight", hand_made::kIdentity}, {"block0.ffn.router.gate.weight", {-3, 3, 0, 0}}});
  const auto purity = [&](std::vector<std::int64_t> groups) {
    auto set = corners();
    set.groups = std::move(groups);
    return mean_of(LayerMeter(made.model, kPairs, set).measure(0, made.row.data())).purity;
  };
  CHECK(purity({5, 5, 0, 0}) == 1);
  CHECK(purity({5, 0, 0, 0}) == Approx(0.75));
  CHECK(purity({5, 0, 5, 0}) == Approx(0.5));
  CHECK(purity({1, 2, 3, 3}) == Approx(0.75));
  CHECK(purity({3, 3, 3, 3}) == 1);
}

TEST_CASE("a network in training is measured as inspect measures it") {
  struct Case {
    const char* what;
    ModelConfig model;
  };
  MoeConfig moe;
  moe.num_experts = 3;
  moe.top_k = 2;
  auto gated = model_with(GatedConfig{}, 6);
  gated.blocks = 2;
  const Case cases[] = {{"plain", model_with(PositionwiseConfig{}, 5)}, {"gated", gated}, {"moe", model_with(moe, 4)}};
  for (const auto& each : cases) {
    INFO(each.what);
    hand_made::Made made(each.model, kPairs, {});
    made.network.layout().initialise(7, made.row.data());
    hand_made::show_corners(made);
    LayerMeter meter(made.model, kPairs, corners());
    const auto values = mean_of(meter.measure(0, made.row.data()));
    double zeros = 0, near_zeros = 0, rank = 0, entropy = 0, violation = 0, token_entropy = 0;
    const auto blocks = made.values();
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const bool mixture = blocks[b].routed.num_experts > 0;
      if (mixture) {
        const auto routing = inspect::report_on(blocks[b].routed, inspect::TokenKinds{}, made.inputs);
        entropy += routing.load_entropy;
        violation += routing.max_violation;
        token_entropy += routing.token_entropy;
        continue;  // inspect measures an expert by its own root mean square
      }
      const auto report = inspect::report_on(
          blocks[b].hidden.at(0),
          keys_and_values(made.parameters(), made.model, static_cast<std::int64_t>(b), std::nullopt, blocks[b].hidden[0].width), nullptr);
      zeros += report.zeros;
      near_zeros += report.near_zeros;
      rank += report.effective_rank;
    }
    const auto count = static_cast<double>(blocks.size());
    CHECK(values.load_entropy == Approx(entropy / count));
    CHECK(values.max_violation == Approx(violation / count));
    CHECK(values.token_entropy == Approx(token_entropy / count));
    if (blocks[0].routed.num_experts > 0) continue;
    CHECK(values.zero_fraction == Approx(zeros / count));
    CHECK(values.near_zero_fraction == Approx(near_zeros / count));
    CHECK(values.effective_rank == Approx(rank / count));
  }
}

TEST_CASE("runs that log nothing of their layers are the runs that they were before that could be asked for") {
  RunConfig config;
  const auto before = run_identity(config);
  config.train.layer_metrics = true;
  CHECK(run_identity(config) != before);
}
