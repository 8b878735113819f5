// Trigger examples, kinds of tokens and patterns, on activations that are written down.
#include <cmath>

#include "base/helpers.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/inspect/examples.hpp"
#include "ffn/inspect/patterns.hpp"
#include "ffn/train/cohort_config.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::inspect;

namespace {

// "abcabc" and "xbcabd" as two examples of six; the neuron's activation is given per token.
Inputs letters() {
  Inputs inputs;
  inputs.shape = {true, 5, 6, 5};
  inputs.count = 2;
  inputs.length = 6;
  inputs.characters = {"a", "b", "c", "d", "\n"};
  inputs.tokens = {0, 1, 2, 0, 1, 2, 4, 1, 2, 0, 1, 3};
  return inputs;
}

HiddenRows rows_of(const std::vector<float>& activations) {
  HiddenRows rows;
  rows.width = 1;
  rows.hidden = activations;
  rows.pre_activation = activations;
  for (std::size_t n = 0; n < activations.size(); ++n) rows.token.push_back(static_cast<std::int64_t>(n));
  return rows;
}

std::string text_of(const Example& example) {
  std::string out;
  for (const auto& name : example.names) out += name;
  return out;
}

}  // namespace

TEST_CASE("the strongest tokens come first, each with what stands before it in its example") {
  const auto inputs = letters();
  const auto found = examples_of(rows_of({0, 0, 5, 0, 1, 0, 0, 0, 2, 0, -9, 7}), 0, inputs, {3, 2, 24});
  REQUIRE(found.top.size() == 3);
  CHECK(text_of(found.top[0]) == "\nbcabd");
  CHECK(found.top[0].activation == 7);
  CHECK(found.top[0].along == std::vector<float>{0, 0, 2, 0, -9, 7});
  CHECK(text_of(found.top[1]) == "abc");
  CHECK(text_of(found.top[2]) == "\nbc");
  CHECK(found.random.size() == 2);
  CHECK(found.middle.empty());  // it fires on four tokens only
}

TEST_CASE("of examples that end alike the first is shown, and prefixes are cut") {
  Inputs inputs = letters();
  inputs.shape.sequence_length = inputs.length = 12;
  inputs.count = 1;
  inputs.tokens = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2};
  const auto found = examples_of(rows_of({0, 0, 0, 0, 0, 3, 0, 0, 3, 0, 0, 3}), 0, inputs, {2, 0, 4});
  REQUIRE(found.top.size() == 2);
  CHECK(found.top[0].token == 5);
  CHECK(text_of(found.top[0]) == "cabc");
  CHECK(found.top[1].activation == 0);  // those at 8 and 11 end as the one at 5 does
}

TEST_CASE("a gated neuron's strongest are those of the largest size, whatever the sign") {
  auto rows = rows_of({0, 1, -4, 2});
  rows.gate = rows.up = rows.hidden;
  Inputs inputs = letters();
  inputs.length = 4;
  inputs.count = 1;
  CHECK(examples_of(rows, 0, inputs, {1, 0, 24}).top.at(0).activation == -4);
  rows.gate.clear();
  rows.up.clear();
  CHECK(examples_of(rows, 0, inputs, {1, 0, 24}).top.at(0).activation == 2);
}

TEST_CASE("between the strongest and nothing stand examples at quantiles of what fires") {
  std::vector<float> activations;
  for (int i = 0; i <= 100; ++i) activations.push_back(static_cast<float>(i));
  Inputs inputs;
  inputs.shape = {false, 1, 1, 2};
  inputs.count = 101;
  for (int i = 0; i <= 100; ++i) inputs.vectors.push_back(static_cast<float>(i));
  const auto found = examples_of(rows_of(activations), 0, inputs);
  REQUIRE(found.middle.size() == 4);  // 1 … 100 fire
  const double expected[] = {91, 76, 51, 26};
  for (std::size_t i = 0; i < 4; ++i) CHECK(found.middle[i].activation == Approx(expected[i]).margin(1));
  CHECK(found.top.size() == 8);
  CHECK(text_of(found.top[0]) == "(100)");
}

TEST_CASE("tokens that an expert did not see have no activation") {
  HiddenRows rows;
  rows.width = 1;
  rows.token = {0, 2};
  rows.hidden = rows.pre_activation = {1, 4};
  const auto found = examples_of(rows, 0, letters(), {1, 0, 24});
  REQUIRE(found.top.at(0).along.size() == 3);
  CHECK(found.top[0].along[0] == 1);
  CHECK(std::isnan(found.top[0].along[1]));
  CHECK(found.top[0].along[2] == 4);
}

TEST_CASE("kinds of a small alphabet are its last tokens, of a large one the last token") {
  Inputs bits;
  bits.shape = {true, 2, 6, 2};
  bits.count = 1;
  bits.length = 6;
  bits.tokens = {0, 1, 1, 0, 1, 1};
  const auto kinds = token_kinds(bits);
  CHECK(kinds.tokens_each == 4);
  CHECK(kinds.of_token == std::vector<std::int64_t>{-1, -1, -1, 6, 13, 11});
  CHECK(kinds.names.at(6) == "…0110");
  CHECK(token_kinds(letters()).names.at(4) == "⏎");
}

TEST_CASE("patterns are means over the tokens of a kind, neurons by where they peak") {
  Inputs inputs;
  inputs.shape = {false, 1, 1, 2};
  inputs.count = 3;
  inputs.vectors = {1, 2, 1};
  HiddenRows rows;
  rows.width = 2;
  rows.token = {0, 1, 2};
  rows.hidden = rows.pre_activation = {1, 4, 9, 0, 3, 6};  // neuron 0: 1, 9, 3; neuron 1: 4, 0, 6
  const auto patterns = patterns_of(rows, token_kinds(inputs), 10, 10);
  CHECK(patterns.kinds == std::vector<std::int64_t>{0, 1});
  CHECK(patterns.neurons == std::vector<std::int64_t>{1, 0});
  CHECK(patterns.mean == std::vector<double>{5, 2, 0, 9});
  CHECK(patterns_of(rows, token_kinds(inputs), 1, 10).mean == std::vector<double>{2, 5});        // the more frequent kind
  CHECK(patterns_of(rows, token_kinds(inputs), 10, 1).neurons == std::vector<std::int64_t>{0});  // the one that varies more
}

TEST_CASE("where many examples end alike, others are found further down") {
  // 200 examples of length 3 that end in "abc" and fire most, and three others.
  Inputs inputs = letters();
  inputs.shape.sequence_length = inputs.length = 3;
  inputs.count = 203;
  std::vector<float> activations;
  inputs.tokens.clear();
  for (int n = 0; n < 203; ++n) {
    for (const std::int64_t token : {std::int64_t{0}, std::int64_t{1}, std::int64_t{n < 200 ? 2 : n == 200 ? 3 : n == 201 ? 0 : 1}})
      inputs.tokens.push_back(token);
    for (const float h : {-1.0f, -1.0f, n < 200 ? 9.0f : 1.0f}) activations.push_back(h);
  }
  const auto found = examples_of(rows_of(activations), 0, inputs, {4, 0, 3});
  REQUIRE(found.top.size() == 4);
  CHECK(text_of(found.top[0]) == "abc");
  CHECK(text_of(found.top[1]) == "abd");
  CHECK(text_of(found.top[2]) == "aba");
  CHECK(text_of(found.top[3]) == "abb");
}

TEST_CASE("a run that holds out a window of its own is shown the text on both sides of it, and none of it") {
  const test::ScratchDirectory scratch;
  std::string text;
  for (std::uint32_t i = 0; i < 200; ++i) append_utf8(text, 0x4E00 + i);  // all different: an id is a place in the text
  TextConfig task{scratch.write("text.txt", text), 4, 0.25};
  task.split = "per_seed";
  RunConfig config;
  config.task = task;
  TensorFile weights;
  weights.metadata["alphabet"] = text;
  std::size_t on_both_sides = 0;
  for (config.seed = 0; config.seed < 20; ++config.seed) {
    const auto part = held_out(*read_corpus(task), task, data_seeds({config})[0].train);
    const auto begin = static_cast<std::int64_t>(part.begin), end = static_cast<std::int64_t>(part.end);
    const auto inputs = training_inputs(config, weights, 100000);
    CHECK(inputs.count == begin / 4 + (200 - end) / 4);
    bool right = true;
    for (std::size_t i = 0; i < inputs.tokens.size(); ++i) {
      right = right && (inputs.tokens[i] < begin || inputs.tokens[i] >= end);
      right = right && (i % 4 == 0 || inputs.tokens[i] == inputs.tokens[i - 1] + 1);
    }
    CHECK(right);
    on_both_sides += begin >= 4 && end <= 196;
  }
  CHECK(on_both_sides > 10);
}
