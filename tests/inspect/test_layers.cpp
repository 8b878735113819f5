// Measurements inside layers, on hand-made networks whose answer is known.
#include <algorithm>
#include <cmath>

#include "ffn/formula/named_formulas.hpp"
#include "ffn/inspect/experts.hpp"
#include "ffn/inspect/neurons.hpp"
#include "hand_made.hpp"
#include "support/catch_plain.hpp"

using namespace hand_made;
using namespace ffn::inspect;

namespace {

HiddenReport report_of(Made& made) {
  const auto values = made.values();
  REQUIRE(values.at(0).hidden.size() == 1);
  const ReadOut read_out(made.parameters(), made.model, made.inputs.shape.num_classes);
  return report_on(values[0].hidden[0], keys_and_values(made.parameters(), made.model, 0, std::nullopt, values[0].hidden[0].width),
                   &read_out);
}

}  // namespace

TEST_CASE("zeros, rates, dead and always-on neurons of a layer are counted") {
  auto made = four_neurons();
  const auto report = report_of(made);
  CHECK(report.tokens == 4);
  CHECK(report.width == 4);
  CHECK(report.zeros == Approx(0.5));  // 2 + 2 + 4 + 0 of 16
  CHECK(report.near_zeros == Approx(0.5));
  CHECK(report.rms == Approx(std::sqrt(8.0 / 16)));
  CHECK(report.fires == Approx(0.5));
  const double fires[] = {0.5, 0.5, 0, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(report.neurons.at(i).fires == Approx(fires[i]));
    CHECK(report.neurons[i].dead == (i == 2));
    CHECK(report.neurons[i].always_on == (i == 3));
  }
  CHECK(report.dead == 1);
  CHECK(report.always_on == 1);
  CHECK(report.rates == std::array<std::int64_t, kRateBins>{1, 0, 0, 0, 0, 2, 0, 0, 0, 1});
  // h₃ = h₀ + h₁: singular values √2 and √6, p = 0.366 and 0.634
  CHECK(report.effective_rank == Approx(1.9286).epsilon(1e-4));
}

TEST_CASE("with a tied head a value is read out by the embedding") {
  ModelConfig model = model_with(PositionwiseConfig{}, 1, "relu");
  model.positions = "none";
  model.tie = true;
  const Made made(model, TaskShape{true, 3, 1, 3}, {{"embedding", {1, 2, 0, -1, 3, 0.5f}}});
  const float value[] = {1, 10};
  CHECK(ReadOut(made.parameters(), model, 3).logits(value) == std::vector<double>{21, -10, 8});
}

TEST_CASE("keys, values, their angle and what a value writes are those of the weights") {
  auto made = four_neurons();
  const auto neuron = report_of(made).neurons.at(0);
  CHECK(neuron.key_norm == Approx(1));
  CHECK(neuron.value_norm == Approx(5));
  CHECK(neuron.cosine == Approx(0.6));
  CHECK(neuron.mean_size == Approx(0.5));
  CHECK(neuron.writes() == Approx(2.5));
  REQUIRE(neuron.towards.size() == 2);
  CHECK(neuron.towards[0].index == 1);
  CHECK(neuron.towards[0].logit == Approx(4));
  CHECK(neuron.favourite == 1);
  CHECK(neuron.against.empty());  // both logits are positive
  const auto opposite = report_of(made).neurons.at(1);
  CHECK(opposite.towards.empty());
  CHECK(opposite.against.at(0).logit < 0);
  CHECK(opposite.reads_out());
  CHECK(opposite.cosine == Approx(1));  // reads and writes along (-1, 0)
}

TEST_CASE("agreement is how often a value favours what follows where its key is strongest") {
  Inputs inputs;
  inputs.shape = {true, 3, 4, 3};
  inputs.length = 4;
  inputs.count = 2;
  inputs.characters = {"a", "b", "c"};
  inputs.tokens = {0, 1, 2, 0, 0, 1, 0, 2};
  HiddenRows hidden;
  hidden.width = 2;
  for (std::int64_t n = 0; n < 8; ++n) hidden.token.push_back(n);
  // Neuron 0 is strongest on "b" with "c" behind it (the 9 stands at the end of a window), neuron 1 on the first "a" with "b" behind it.
  hidden.hidden = hidden.pre_activation = {0, 5, 7, 0, 0, 0, 9, 0, 1, 1, 0, 0, 0, 0, 0, 0};
  HiddenReport report;
  report.tokens = 8;
  report.neurons.resize(2);
  report.neurons[0].favourite = 2;
  report.neurons[1].favourite = 0;
  const auto found = agreement_of(hidden, report, inputs);
  REQUIRE(found);
  CHECK(found->share == Approx(0.5));
  CHECK(found->by_chance == Approx((2.0 / 6 + 2.0 / 6) / 2));  // behind: b c a, b a c
  inputs.characters.clear();
  CHECK_FALSE(agreement_of(hidden, report, inputs));
}

TEST_CASE("a value is read through the last norm: centred, and by its scale") {
  auto model = model_with(PositionwiseConfig{}, 4, "relu");
  model.norm.kind = "layer";
  Made made(model, kPairs, {{"final_norm.weight", {1, 10}}, {"head.weight", kIdentity}});
  const float value[] = {3, 5};
  const auto logits = ReadOut(made.parameters(), made.model, 2).logits(value);
  CHECK(logits.at(0) == Approx(-1));
  CHECK(logits.at(1) == Approx(10));
}

TEST_CASE("smooth activations are near zero by their layer's root mean square, and fire where the pre-activation is positive") {
  Made made(model_with(PositionwiseConfig{}, 3, "gelu"), kPairs,
            {{"projection.weight", kIdentity},
             {"block0.ffn.up.weight", {10, 0, 0, 0, 0, 0}},
             {"block0.ffn.up.bias", {0, -4, -0.75f}},
             {"head.weight", kIdentity}});
  show_corners(made);
  const auto report = report_of(made);
  // h₀ = gelu(±10) = 10 and about 0; h₁ = gelu(-4) = -0.0001; h₂ = gelu(-0.75) = -0.17
  CHECK(report.near_zeros == Approx(6.0 / 12));
  CHECK(report.neurons.at(0).fires == Approx(0.5));
  CHECK(report.neurons.at(1).dead);
  CHECK_FALSE(report.neurons.at(2).dead);
  CHECK(report.neurons.at(2).fires == 0);
}

TEST_CASE("gate and up of a gated layer are told apart by their signs") {
  // gate = relu(x₀), up = x₁: h = relu(x₀)·x₁
  Made made(model_with(GatedConfig{}, 1, "relu"), kPairs,
            {{"projection.weight", kIdentity},
             {"block0.ffn.gate.weight", {1, 0}},
             {"block0.ffn.up.weight", {0, 2}},
             {"block0.ffn.down.weight", {0, 1}},
             {"head.weight", kIdentity}});
  made.inputs.count = 4;
  made.inputs.vectors = {1, 1, 1, 1, 1, -1, -1, 1};
  const auto report = report_of(made);
  CHECK(report.gated);
  CHECK(report.signs == std::array<double, 4>{0.5, 0.25, 0.25, 0});
  CHECK(report.gate_near_zeros == Approx(0.25));
  CHECK(report.up_near_zeros == 0);
  CHECK(report.zeros == Approx(0.25));
  const auto& neuron = report.neurons.at(0);
  CHECK(neuron.fires == Approx(0.75));
  CHECK(neuron.key_norm == Approx(1));
  CHECK(neuron.up_norm == Approx(2));
  CHECK(neuron.peak == Approx(2));
  CHECK(made.values().at(0).hidden.at(0).hidden == std::vector<float>{2, 2, -2, 0});
}

TEST_CASE("the neurons of a formula that ends in a product are those of the built-in layer") {
  FormulaConfig config;
  config.text.formula = "(relu(x @ g) * u) @ down.T";
  *config.text.let = {{"u", "x @ up"}};
  *config.text.parameters = {{"g", {"D", "F"}}, {"up", {"D", "F"}}, {"down", {"D", "F"}}};
  const std::vector<float> gate = {1, 2, 0, 1}, up = {0, 1, 2, -1};
  const std::map<std::string, std::vector<float>> ends{{"projection.weight", kIdentity}, {"head.weight", kIdentity}};
  auto of_formula = ends, of_kind = ends;
  of_formula.insert({{"block0.ffn.g", gate}, {"block0.ffn.up", up}, {"block0.ffn.down", {3, 0, 1, 2}}});
  of_kind.insert({{"block0.ffn.gate.weight", gate}, {"block0.ffn.up.weight", up}, {"block0.ffn.down.weight", {3, 1, 0, 2}}});
  Made formula(model_with(config, 2), kPairs, of_formula), kind(model_with(GatedConfig{}, 2), kPairs, of_kind);
  show_corners(formula);
  show_corners(kind);
  const auto found = report_of(formula), expected = report_of(kind);
  CHECK(found.gated);
  CHECK(found.signs == expected.signs);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto &a = found.neurons.at(i), &b = expected.neurons.at(i);
    CHECK(std::vector<double>{a.fires, a.peak, a.key_norm, a.up_norm, a.value_norm, a.cosine, a.mean_size} ==
          std::vector<double>{b.fires, b.peak, b.key_norm, b.up_norm, b.value_norm, b.cosine, b.mean_size});
    CHECK(a.favourite == b.favourite);
  }
}

TEST_CASE("what a formula's last product reads is its hidden layer, with the product that it is made of") {
  struct Case {
    const char* name;
    bool has_one, gated, has_pre_activation;
  };
  for (const auto& [name, has_one, gated, has_pre_activation] :
       {Case{"positionwise", true, false, true}, Case{"swiglu", true, true, true}, Case{"gau", true, true, true},
        Case{"squared_relu", true, false, true}, Case{"xielu", true, false, true}, Case{"maxout", true, false, false},
        Case{"bitnet", true, false, false}, Case{"rwkv_channel_mix", false, false, false}}) {
    CAPTURE(name);
    const auto& rows = named_formulas();
    const auto row = std::find_if(rows.begin(), rows.end(), [name = name](const NamedFormula& r) { return r.name == std::string(name); });
    const auto graph = compile_formula(formula_text(*row), 4, 8, "gelu");
    const auto hidden = hidden_layer(graph);
    REQUIRE(hidden.has_value() == has_one);
    if (!hidden) continue;
    CHECK((hidden->gate >= 0) == gated);
    CHECK((hidden->pre_activation >= 0) == has_pre_activation);
  }
}

TEST_CASE("each expert has the tokens that were sent to it, in their order") {
  auto made = three_experts(1);
  made.inputs.vectors = {1, 1, -1, 1, 1, 1, -1, 1};  // x₁ = 1 keeps expert 2 out
  const auto values = made.values();
  const auto& hidden = values.at(0).hidden;
  REQUIRE(hidden.size() == 3);
  CHECK(hidden[0].token == std::vector<std::int64_t>{0, 2});
  CHECK(hidden[1].token == std::vector<std::int64_t>{1, 3});
  CHECK(hidden[2].rows() == 0);
  CHECK(hidden[0].hidden == std::vector<float>{1, 0, 1, 0});
  CHECK(hidden[1].hidden == std::vector<float>{1, 0, 1, 0});
  const auto second = report_on(hidden[1], keys_and_values(made.parameters(), made.model, 0, 1, 2), nullptr);
  CHECK(second.neurons.at(0).value_norm == Approx(5));
  CHECK(second.neurons.at(0).cosine == Approx(-0.6));
  CHECK(second.neurons.at(0).towards.empty());
  const auto third = report_on(hidden[2], keys_and_values(made.parameters(), made.model, 0, 2, 2), nullptr);
  CHECK(third.tokens == 0);
}

TEST_CASE("shares, entropies and what each expert takes follow from where the tokens went") {
  auto made = three_experts(1);
  made.inputs.vectors = {1, 1, -1, 1, 1, 2, 1, 2};
  const auto kinds = token_kinds(made.inputs);
  CHECK(kinds.names == std::vector<std::string>{"(1, 1)", "(−1, 1)", "(1, 2)"});
  CHECK(kinds.counts == std::vector<std::int64_t>{1, 1, 2});
  const auto values = made.values();
  const auto report = report_on(values.at(0).routed, kinds, made.inputs);
  CHECK(report.tokens == 4);
  CHECK(report.experts.at(0).load == Approx(0.75));
  CHECK(report.experts.at(1).load == Approx(0.25));
  CHECK(report.experts.at(2).load == 0);
  CHECK(report.load_entropy == Approx(-0.75 * std::log(0.75) - 0.25 * std::log(0.25)));
  CHECK(report.effective_experts == Approx(std::exp(report.load_entropy)));
  CHECK(report.max_violation == Approx(0.75 * 3 - 1));
  CHECK(report.token_entropy == Approx(0).margin(1e-6));  // logits 10 and -10: as good as certain
  CHECK(report.experts[0].mean_weight == Approx(1));
  REQUIRE(report.experts[0].takes.size() == 2);
  CHECK(report.experts[0].takes[0].kind == 2);
  CHECK(report.experts[0].takes[0].share == Approx(1));
  REQUIRE(report.experts[1].takes.size() == 1);
  CHECK(report.experts[1].takes[0].kind == 1);
}

TEST_CASE("with two experts per token the pairs are counted") {
  auto made = three_experts(2);
  const auto report = report_on(made.values().at(0).routed, token_kinds(made.inputs), made.inputs);
  // x₁ = 1: (10 or -10, -10 or 10, -40) → experts 0 and 1; x₁ = -1: expert 2 has logit 40 and goes with 0 or 1
  CHECK(report.together == std::vector<double>{0.75, 0.5, 0.25, 0.5, 0.75, 0.25, 0.25, 0.25, 0.5});
  CHECK(report.experts.at(2).load == Approx(0.25));
}

TEST_CASE("attention by position is averaged, and its heads say where they look") {
  ModelConfig model;
  model.d_model = 2;
  model.ffn = NoFfnConfig{};
  model.positions = "none";
  model.attention = AttentionConfig{};
  model.attention->heads = 1;
  model.attention->scores = "position";
  model.attention->causal = true;
  const TaskShape bits{true, 2, 4, 2};
  // Each position looks one back, the first at itself.
  Made made(model, bits, {{"block0.attention.scores", {0, 0, 0, 0, 99, 0, 0, 0, 0, 99, 0, 0, 0, 0, 99, 0}}});
  made.inputs.count = 2;
  made.inputs.tokens = {0, 1, 0, 1, 1, 1, 0, 0};
  const auto values = made.values();
  const auto& attention = values.at(0).attention;
  CHECK(attention.mean == std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  CHECK(attention.entropy.at(0) == Approx(0).margin(1e-6));
  const auto heads = heads_of(attention);
  REQUIRE(heads.size() == 1);
  REQUIRE(heads[0].looks_at.size() == 2);
  CHECK(heads[0].looks_at[0].offset == -1);
  CHECK(heads[0].looks_at[0].share == Approx(0.75));
  CHECK(heads[0].looks_at[1].offset == 0);
}

TEST_CASE("attention that is even has the entropy of a coin of as many sides") {
  ModelConfig model;
  model.d_model = 2;
  model.ffn = NoFfnConfig{};
  model.attention = AttentionConfig{};
  model.attention->heads = 2;
  model.attention->causal = false;
  Made made(model, {true, 2, 3, 2}, {});
  made.inputs.count = 5;
  made.inputs.tokens.assign(15, 1);
  const auto values = made.values();
  for (const double entropy : values.at(0).attention.entropy) CHECK(entropy == Approx(std::log(3.0)).epsilon(1e-6));
  CHECK(values[0].attention.entropy.size() == 2);
  CHECK(values[0].attention.mean.at(17) == Approx(1.0 / 3));
}

TEST_CASE("looking on changes nothing, and chunks are put together") {
  auto made = four_neurons();
  made.inputs.vectors.clear();
  made.inputs.count = 5000;  // more than one pass takes
  for (int i = 0; i < 5000; ++i) made.inputs.vectors.insert(made.inputs.vectors.end(), {i % 3 == 0 ? 1.0f : -1.0f, static_cast<float>(i)});
  const auto values = made.values();
  const auto& hidden = values.at(0).hidden.at(0);
  REQUIRE(hidden.rows() == 5000);
  bool right = true;
  for (std::size_t n = 0; n < 5000; ++n)
    right = right && hidden.token[n] == static_cast<std::int64_t>(n) && hidden.hidden[4 * n] == (n % 3 == 0 ? 1.0f : 0.0f);
  CHECK(right);
  CHECK(values[0].input.size() == 10000);
  const auto examples = made.inputs.examples(0, 4);
  const float* seen = made.network.logits(made.row.data(), examples);
  CHECK(std::vector<float>(seen, seen + 4) == std::vector<float>{3, 4, -2, 0});
}
