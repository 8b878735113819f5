// Fields that contradict each other: refused with both values and a remedy.
#include "config/helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

TEST_CASE("facts across fields name both values") {
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"moe\", \"num_experts\": 2,\n\"top_k\": 4}}}") ==
        "x.json:2  /model/ffn/top_k: top_k (4) exceeds num_experts (2)");
  CHECK(problems_in("{\"model\": {\"d_model\": 10,\n\"attention\": {\"heads\": 4}}}") ==
        "x.json:1  /model/d_model: d_model (10) is not divisible by attention.heads (4)");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"d_ff\": 64,\n\"expansion\": 4}}}") ==
        "x.json:2  /model/ffn/expansion: both d_ff (64) and expansion are set; remove one");
  CHECK(problems_in("{\"train\": {\"target\": {}}}") ==
        "x.json:1  /train/target/at_least: a target needs exactly one of at_least and at_most");
  CHECK(problems_in("{\"train\": {\"target\": {\"at_least\": 1, \"at_most\": 1}}}") ==
        "x.json:1  /train/target/at_least: a target needs exactly one of at_least and at_most");
  const auto begins = [](const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; };
  CHECK(
      begins(problems_in("{\"train\": {\"target\": {\"metric\": \"val/perplexity\", \"at_most\": 3}}}"),
             "x.json:1  /train/target/metric: the target metric val/perplexity is logged for text tasks only; this one logs val/accuracy"));
  CHECK(begins(problems_in("{\"model\": {\"ffn\": {\"kind\": \"gated\"}},\n\"train\": {\"target\": {\"metric\": \"train/balance_loss\", "
                           "\"at_most\": 2}}}"),
               "x.json:2  /train/target/metric: the target metric train/balance_loss is logged for models with a mixture of experts only; "
               "this one logs val/accuracy"));
  CHECK(problems_in("{\"train\": {\"optimizer\": {\"kind\": \"sgd\", \"nesterov\": true, \"momentum\": 0}}}") ==
        "x.json:1  /train/optimizer/nesterov: nesterov needs momentum above 0");
  CHECK(problems_in("{\"task\": {\"kind\": \"sequence_xor\", \"first_offset\": 2}}") ==
        "x.json:1  /task/second_offset: second_offset (2) equals first_offset; the XOR of a bit with itself is always 0");
  CHECK(problems_in("{\"task\": {\"kind\": \"sequence_xor\", \"first_offset\": 8}}") ==
        "x.json:1  /task/first_offset: offset (8) leaves no position to score in a sequence of length (8)");
}

TEST_CASE("a rate for a role that the model does not have is refused with those that it has") {
  const auto with = [](const std::string& lr_scale, const std::string& model = "{}") {
    return problems_in("{\"model\": " + model + ",\n\"train\": {\"optimizer\": {\"lr_scale\": " + lr_scale + "}}}");
  };
  CHECK(with(R"({"head": 0, "up": 2.5})") == "");
  CHECK(with(R"({"heads": 0})") ==
        "x.json:2  /train/optimizer/lr_scale: the model has no parameters of the role \"heads\"; did you mean \"head\"?; its roles: "
        "embedding, up, down, head");
  CHECK_THAT(with(R"({"position": 0})"), ContainsSubstring("no parameters of the role \"position\""));  // XOR has no positions
  CHECK(problems_in(R"({"task": {"kind": "sequence_xor"}, "train": {"optimizer": {"lr_scale": {"position": 0}}}})") == "");
  CHECK_THAT(with(R"({"gate": 0})"), ContainsSubstring("no parameters of the role \"gate\""));
  CHECK(with(R"({"gate": 0})", R"({"ffn": {"kind": "gated"}})") == "");
  CHECK(with(R"({"router": 0, "norm": 0, "query": 0})", R"({"ffn": {"kind": "moe"}, "norm": {"kind": "rms"}, "attention": {}})") == "");
  CHECK(with(R"({"other": 0, "up": 0})",
             R"({"ffn": {"kind": "formula", "formula": "x @ up @ V", "parameters": {"up": ["D", "F"], "V": ["F", "D"]}}})") == "");
  CHECK(with(R"({"head": -1})") == "x.json:2  /train/optimizer/lr_scale: head: expected a factor of at least 0, got -1");
  CHECK(with(R"({"head": "0"})") == "x.json:2  /train/optimizer/lr_scale: head: expected a factor of at least 0, got \"0\"");
  CHECK(with("0") == "x.json:2  /train/optimizer/lr_scale: expected an object { … }, got 0");
}

TEST_CASE("lists by block fit the blocks and a layer of one width, and nothing else says what they say") {
  const auto of = [](const std::string& model) { return problems_in("{\"model\": " + model + "}"); };
  CHECK(of(R"({"blocks": 3, "block_expansion": [4, 0, 1.5], "block_activation": ["relu", "identity", "z * z"]})") == "");
  CHECK(of(R"({"blocks": 3, "block_expansion": [4, 0]})") == "x.json:1  /model/block_expansion: block_expansion has 2 values for 3 blocks");
  CHECK_THAT(of(R"({"block_expansion": [-1]})"), ContainsSubstring("expected multiples of d_model from 0 to 1024, one per block, got -1"));
  CHECK_THAT(of(R"({"block_expansion": [0]})"), ContainsSubstring("no block has a feed-forward layer"));
  CHECK_THAT(of(R"({"block_expansion": [2], "ffn": {"d_ff": 8}})"), ContainsSubstring("remove ffn.d_ff, ffn.expansion and ffn.match"));
  CHECK_THAT(of(R"({"block_expansion": [2], "ffn": {"kind": "moe"}})"), ContainsSubstring("is of plain, gated and formula layers"));
  CHECK_THAT(of(R"({"block_activation": ["rellu"]})"),
             ContainsSubstring("expected names of activations or formulas in z, one per block, got \"rellu\""));
  CHECK_THAT(of(R"({"block_activation": ["relu"], "ffn": {"activation": "silu"}})"), ContainsSubstring("remove ffn.activation"));
  CHECK_THAT(of(R"({"block_activation": ["relu"], "ffn": {"kind": "formula", "name": "swiglu"}})"),
             ContainsSubstring("the formula nowhere calls phi"));
  CHECK_THAT(of(R"({"blocks": 2, "block_expansion": [2, 1], "d_model": 3, "ffn": {"kind": "formula", "formula": "x @ up @ down",
                    "parameters": {"up": ["D", "F/2"], "down": ["F/2", "D"]}}})"),
             ContainsSubstring("F = 3"));
  CHECK_THAT(of(R"({"parallel_from": 1, "blocks": 2})"), ContainsSubstring("set parallel=true or leave it out"));
  CHECK_THAT(of(R"({"parallel": true, "attention": {}, "parallel_from": 2, "blocks": 2})"),
             ContainsSubstring("parallel_from (2) is no block; the last is 1"));
  CHECK_THAT(of(R"({"ffn": {"kind": "moe", "shared_expansion": 2}})"),
             ContainsSubstring("there is none; set shared_experts or leave it out"));
  CHECK_THAT(problems_in(R"({"train": {"optimizer": {"decay_scale": {"heads": 0}}}})"),
             ContainsSubstring("/train/optimizer/decay_scale: the model has no parameters of the role"));
}

TEST_CASE("a start for a role without one, mup without its base, and mup under another rule of rates are refused") {
  const auto with = [](const std::string& model, const std::string& optimizer = "{}") {
    return problems_in("{\"model\": " + model + ",\n\"train\": {\"optimizer\": " + optimizer + "}}");
  };
  CHECK(with(R"({"init_scale": {"head": 0, "up": 2.5}})") == "");
  CHECK_THAT(with(R"({"init_scale": {"gate": 0}})"),
             ContainsSubstring("/model/init_scale: the model has no parameters of the role \"gate\""));
  CHECK_THAT(with(R"({"init_scale": {"up": -1}})"), ContainsSubstring("/model/init_scale: up: expected a factor of at least 0, got -1"));
  CHECK_THAT(with(R"({"init_scale": {"norm": 2}, "norm": {"kind": "rms"}})"), ContainsSubstring("norms start at 1"));
  CHECK(with(R"({"init": "mup", "base_d_ff": 64})") == "");
  CHECK(with(R"({"init": "mup", "base_d_ff": 64})", R"({"kind": "lion"})") == "");
  CHECK_THAT(with(R"({"init": "mup"})"), ContainsSubstring("init mup needs base_d_ff"));
  CHECK_THAT(with(R"({"base_d_ff": 64})"), ContainsSubstring("base_d_ff is of init mup alone"));
  for (const char* kind : {"sgd", "muon"})
    CHECK_THAT(with(R"({"init": "mup", "base_d_ff": 64})", std::string(R"({"kind": ")") + kind + "\"}"),
               ContainsSubstring("/model/init: mup says how the rates of adamw, adam and lion"));
  const std::string without_down = R"("ffn": {"kind": "formula", "parameters": {"W": ["D", "D"]}, "formula": "x @ W"})";
  for (const char* init : {"zero_out", "nanochat", "mup"})
    CHECK_THAT(with("{\"init\": \"" + std::string(init) + "\", \"base_d_ff\": 64, " + without_down + "}"),
               ContainsSubstring("no parameter of the formula is called down"));
  CHECK_THAT(with(R"({"init_from": "runs/none", "init_scale": {"up": 2}})"),
             ContainsSubstring("/model/init_scale: init_scale is a factor on"));
}

TEST_CASE("what a router cannot do is refused with the reason") {
  const auto moe = [](const std::string& keys, const std::string& more = "") {
    return problems_in(R"({"model": {"ffn": {"kind": "moe", "num_experts": 4, )" + keys + "}" + more + "}}");
  };
  const std::string choice = R"("router": {"kind": "expert_choice"})";
  CHECK(moe(choice) == "");
  CHECK_THAT(moe(choice, R"(, "attention": {})"), ContainsSubstring("a causal model would see what it must not; choose another router"));
  CHECK_THAT(moe(choice + R"(, "balance_weight": 0.5)"), ContainsSubstring("there is nothing to balance"));
  CHECK_THAT(moe(R"("capacity_factor": 0.01)"), ContainsSubstring("tokens no expert would take any; choose a larger capacity_factor"));
}
