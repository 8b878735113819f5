// Errors in configs: the place, what was found, what was expected, what to do.
#include "config/helpers.hpp"
#include "support/catch_plain.hpp"
#include "support/choices.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

const std::string kActivations = list_of("model.ffn[positionwise].activation");
const std::string kMetrics = list_of("train.target.metric");

}  // namespace

TEST_CASE("a right config is read, comments, schema hint and all") {
  const auto config = run_from(R"({
    "$schema": "https://example.org/ffn-train.schema.json",
    "name": "xor", "seed": 3,  // three
    "task": {"kind": "xor", "bits": 4},
    "model": {"d_model": 8, "ffn": {"kind": "positionwise", "expansion": 4, "activation": "relu"}},
    "train": {"steps": 2000, "batch_size": 64, "optimizer": {"kind": "adamw", "lr": 0.01},
              "target": {"metric": "val/accuracy", "at_least": 0.99}}
  })");
  CHECK(config.name == "xor");
  CHECK(config.seed == 3);
  CHECK(std::get<XorConfig>(config.task).bits == 4);
  CHECK(config.model.d_model == 8);
  CHECK(std::get<PositionwiseConfig>(config.model.ffn).activation == "relu");
  CHECK(std::get<PositionwiseConfig>(config.model.ffn).hidden_width(8) == 32);
  CHECK(config.train.steps == 2000);
  CHECK(std::get<AdamWConfig>(config.train.optimizer).lr == 0.01);
  CHECK(config.train.target->at_least == 0.99);
  CHECK(!config.train.target->at_most);
  CHECK(!config.model.attention);
}

TEST_CASE("whole numbers may be written with a fraction of zero or an exponent") {
  CHECK(run_from(R"({"train": {"steps": 2000.0}})").train.steps == 2000);
  CHECK(run_from(R"({"train": {"steps": 2e3}})").train.steps == 2000);
  CHECK(run_from(R"({"seed": 9007199254740993})").seed == 9007199254740993);  // 2^53 + 1: exact as an integer
  CHECK(run_from(R"({"seed": 9223372036854775807})").seed == 9223372036854775807);
}

TEST_CASE("an unknown key is answered with the nearest one") {
  CHECK(problems_in("{\"nmae\": \"x\"}") == "x.json:1  /nmae: unknown key \"nmae\"; did you mean \"name\"?");
  CHECK(problems_in("{\"model\": {\n\"d_modle\": 8}}") == "x.json:2  /model/d_modle: unknown key \"d_modle\"; did you mean \"d_model\"?");
  CHECK(problems_in("{\"train\": {\"optimizer\": {\"LR\": 1}}}") ==
        "x.json:1  /train/optimizer/LR: unknown key \"LR\"; did you mean \"lr\"?");
  CHECK(problems_in("{\"seds\": 20}") == "x.json:1  /seds: unknown key \"seds\"; did you mean \"seeds\"?");
}

TEST_CASE("an unknown key with nothing near is answered with the keys that exist") {
  CHECK(problems_in("{\"zzz\": 1}") ==
        "x.json:1  /zzz: unknown key \"zzz\"; known here: compute, keep, label, log, model, name, seed, task, train");
  CHECK(problems_in("{\"task\": {\"kind\": \"xor\", \"wavelength\": 1}}") ==
        "x.json:1  /task/wavelength: unknown key \"wavelength\"; known here: bits, jitter, kind, label_noise");
}

TEST_CASE("a key of another kind is unknown") {
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"gated\", \"top_k\": 2}}}") ==
        "x.json:1  /model/ffn/top_k: unknown key \"top_k\"; only kind moe or pkm or peer has it");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"num_experts\": 2}}}") ==
        "x.json:1  /model/ffn/num_experts: unknown key \"num_experts\"; only kind moe has it");
}

TEST_CASE("a key that stands elsewhere is found by its last part") {
  const auto unknown = [](const char* key, const char* remedy) {
    return "x.json:1  /" + std::string(key) + ": unknown key \"" + std::string(key) + "\"; did you mean " + remedy + "?";
  };
  CHECK(problems_in("{\"activation\": \"relu\"}") == unknown("activation", "model.ffn.activation"));
  CHECK(problems_in("{\"lr\": 1}") == unknown("lr", "train.optimizer.lr"));
  CHECK(problems_in("{\"ffn\": {}}") == unknown("ffn", "model.ffn"));
  CHECK(problems_in("{\"epsilon\": 1}") ==
        unknown("epsilon", "model.norm.epsilon, model.ffn.expert.epsilon, model.ffn.epsilon or train.optimizer.epsilon"));
  CHECK(problems_in("{\"train\": {\"lr\": 1}}") == "x.json:1  /train/lr: unknown key \"lr\"; did you mean train.optimizer.lr?");
  CHECK(problems_in("{\"compare\": {}}") ==
        "x.json:1  /compare: unknown key \"compare\"; it is for a study, which has \"seeds\" or \"sweep\"");
}

TEST_CASE("what is called otherwise elsewhere is answered with its name here") {
  const auto activation = [](const std::string& name) { return problems_in("{\"model\": {\"ffn\": {\"activation\": \"" + name + "\"}}}"); };
  CHECK(activation("swish").find("unknown value \"swish\"; here that is silu. Known: identity, ") != std::string::npos);
  CHECK(activation("SwiGLU").find("; here that is kind=gated activation=silu. Known: ") != std::string::npos);
  CHECK(activation("geglu").find("; here that is kind=gated activation=gelu. Known: ") != std::string::npos);
  CHECK(activation("reglu").find("; here that is kind=gated activation=relu. Known: ") != std::string::npos);
  CHECK(problems_in(R"({"model": {"ffn": {"kind": "linear"}}})").find("unknown kind \"linear\"; here that is none. Known: ") !=
        std::string::npos);
  CHECK(problems_in(R"({"model": {"ffn": {"kind": "swiglu"}}})")
            .find("unknown kind \"swiglu\"; here that is kind=gated activation=silu. Known: ") != std::string::npos);
}

TEST_CASE("a list outside of the sweep is told where it belongs") {
  CHECK(problems_in("{\"train\": {\"steps\": [1, 2]}}") ==
        "x.json:1  /train/steps: expected an integer, got [1,2]; to compare these, put them into \"sweep\": {\"grid\": {\"train.steps\": "
        "[1,2]}}");
  CHECK(problems_in(R"({"model": {"ffn": {"activation": ["relu"]}}})").find("{\"grid\": {\"model.ffn.activation\": [\"relu\"]}}") !=
        std::string::npos);
  CHECK(problems_in("{\"seed\": [1, 2]}") == "x.json:1  /seed: expected an integer, got [1,2]; several seeds are \"seeds\"");
  CHECK(problems_in("{\"name\": [1]}") == "x.json:1  /name: expected a string, got [1]");
  auto document = parse_document("{}", "x.json", "/");
  apply_override(document, "train.steps=[1,2]");
  CHECK(problems_of([&] { read_run_config(document, "x.json"); }) ==
        "override 'train.steps=[1,2]'  /train/steps: expected an integer, got [1,2]; to compare values, write them without brackets: "
        "train.steps=a,b");
}

TEST_CASE("a width on top of the other way to say it replaces that") {
  const auto with = [](const std::string& text, const std::string& assignment) {
    auto document = parse_document(text, "x.json", "/");
    apply_override(document, assignment);
    return std::get<PositionwiseConfig>(read_run_config(document, "x.json").model.ffn);
  };
  const auto narrow = with(R"({"model": {"ffn": {"expansion": 2}}})", "model.ffn.d_ff=64");
  CHECK(narrow.d_ff == 64);
  CHECK_FALSE(narrow.expansion);
  const auto wide = with(R"({"model": {"ffn": {"d_ff": 64}}})", "model.ffn.expansion=2");
  CHECK_FALSE(wide.d_ff);
  CHECK(wide.expansion == 2.0);
  CHECK(with(R"({"model": {"ffn": {"d_ff": 64}}})", "model.ffn.expansion=null").d_ff == 64);
  CHECK(problems_in("{\"model\": {\"ffn\": {\"d_ff\": 64, \"expansion\": 2}}}").find("both d_ff (64) and expansion are set; remove one") !=
        std::string::npos);
}

TEST_CASE("a target that no value reaches is refused") {
  const auto target = [](const std::string& text) { return problems_in("{\"train\": {\"target\": {" + text + "}}}"); };
  CHECK(target("\"metric\": \"val/accuracy\", \"at_least\": 1.5") ==
        "x.json:1  /train/target/at_least: val/accuracy is never above 1, so it cannot be at least 1.5");
  CHECK(target("\"metric\": \"val/loss\", \"at_most\": -1") ==
        "x.json:1  /train/target/at_most: val/loss is never below 0, so it cannot be at most -1");
  CHECK(target("\"metric\": \"val/accuracy\", \"at_least\": 1").empty());
  CHECK(target("\"metric\": \"val/loss\", \"at_most\": 0").empty());
}

TEST_CASE("positions and blocks that a model cannot have are refused with a remedy") {
  const auto model = [](const std::string& text) { return problems_in("{\"model\": {" + text + "}}"); };
  CHECK(model("\"positions\": \"rotary\"") ==
        "x.json:1  /model/positions: rotary positions turn the queries and keys of attention, and this model has none; set "
        "model.attention.heads or another position encoding");
  CHECK(model("\"positions\": \"rotary\", \"attention\": {\"heads\": 32}") ==
        "x.json:1  /model/positions: rotary positions turn pairs of numbers, and the width of a head is odd: d_model / attention.heads is "
        "32 / 32; set model.attention.heads or model.d_model so that it is even");
  CHECK(model("\"positions\": \"rotary\", \"attention\": {\"scores\": \"position\"}") ==
        "x.json:1  /model/positions: rotary positions turn queries and keys, and attention.scores=position has none; set "
        "model.attention.scores=content or another position encoding");
  CHECK(model("\"attention\": {\"rotary_base\": 50}") ==
        "x.json:1  /model/attention/rotary_base: rotary_base is for positions=rotary, and positions is learned; set model.positions=rotary "
        "or leave it out");
  CHECK(model("\"attention\": {\"qk_norm\": true, \"scores\": \"position\"}") ==
        "x.json:1  /model/attention/qk_norm: qk_norm acts on queries and keys, and attention by position has none; set scores=content or "
        "qk_norm=false");
  CHECK(model("\"parallel\": true") ==
        "x.json:1  /model/parallel: parallel puts the feed-forward layer beside attention, and this model has none; set "
        "model.attention.heads or parallel=false");
  CHECK(model("\"parallel\": true, \"attention\": {}, \"norm\": {\"kind\": \"rms\", \"placement\": \"post\"}") ==
        "x.json:1  /model/parallel: parallel has one norm before both layers, and norm.placement is post; set model.norm.placement=pre or "
        "parallel=false");
  CHECK(model("\"parallel\": true, \"attention\": {}, \"norm\": {\"placement\": \"post\"}").empty());  // of kind "none"
  CHECK(model("\"positions\": \"rotary\", \"attention\": {\"rotary_layout\": \"pairs\", \"rotary_base\": 50}").empty());
}

TEST_CASE("an unknown key's text stays on one line, short and harmless") {
  const auto strange = problems_in("{\"a\\n\\u001b[31m\\\"b\": 1}");
  CHECK(strange.find("unknown key \"a\\n\\u001b[31m\\\"b\"; known here: ") != std::string::npos);
  CHECK(strange.find('\n') == std::string::npos);
  CHECK(strange.find('\x1b') == std::string::npos);
  const auto longer = problems_in("{\"" + repeated("φ", 10'000) + "\": 1}");
  CHECK(longer.size() < 400);
  CHECK(longer.find("unknown key \"" + repeated("φ", 36) + "...; known here: ") != std::string::npos);
}

TEST_CASE("a value of the wrong type is shown with the type that was expected") {
  CHECK(problems_in("{\"seed\": \"zero\"}") == "x.json:1  /seed: expected an integer, got \"zero\"");
  CHECK(problems_in("{\"seed\": null}") == "x.json:1  /seed: expected an integer, got null");
  CHECK(problems_in("{\"seed\": true}") == "x.json:1  /seed: expected an integer, got true");
  CHECK(problems_in("{\"train\": {\"clip_norm\": \"big\"}}") == "x.json:1  /train/clip_norm: expected a number, got \"big\"");
  CHECK(problems_in("{\"model\": {\"residual\": 1}}") == "x.json:1  /model/residual: expected true or false, got 1");
  CHECK(problems_in("{\"name\": [\"a\", 1]}") == "x.json:1  /name: expected a string, got [\"a\",1]");
  CHECK(problems_in("{\"model\": {\"positions\": 0}}") == "x.json:1  /model/positions: expected a string, got 0");
  CHECK(problems_in("{\"model\": 5}") == "x.json:1  /model: expected an object { … }, got 5");
  CHECK(problems_in("{\"model\": {\"attention\": true}}") == "x.json:1  /model/attention: expected null or an object { … }, got true");
  CHECK(problems_in("{\"task\": \"xor\"}") ==
        "x.json:1  /task: expected an object { \"kind\": … }, got \"xor\"; a kind is set as task.kind. Kinds: " + list_of("task"));
  CHECK(problems_in("{\"task\": {\"kind\": \"text\", \"file\": 5}}") == "x.json:1  /task/file: expected a path, got 5");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"d_ff\": \"wide\"}}}") == "x.json:1  /model/ffn/d_ff: expected an integer, got \"wide\"");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"expansion\": []}}}") == "x.json:1  /model/ffn/expansion: expected a number, got []");
}

TEST_CASE("3.7 is not an integer, and neither is a number too large for one") {
  CHECK(problems_in("{\"train\": {\"steps\": 3.7}}") == "x.json:1  /train/steps: expected an integer, got 3.7");
  CHECK(problems_in("{\"seed\": 1e300}") == "x.json:1  /seed: expected an integer, got 1e+300");
  CHECK(problems_in("{\"seed\": 9223372036854775808}") == "x.json:1  /seed: expected an integer, got 9223372036854775808");
  CHECK(problems_in("{\"seed\": 123456789012345678901234567890}") == "x.json:1  /seed: expected an integer, got 1.2345678901234568e+29");
}

TEST_CASE("a value out of range is shown with the range, to the last digit") {
  CHECK(problems_in("{\"seed\": -1}") == "x.json:1  /seed: -1 is out of range; expected at least 0");
  CHECK(problems_in("{\"model\": {\"d_model\": 0}}") == "x.json:1  /model/d_model: 0 is out of range; expected between 1 and 65536");
  CHECK(problems_in("{\"model\": {\"d_model\": 65537}}") ==
        "x.json:1  /model/d_model: 65537 is out of range; expected between 1 and 65536");
  CHECK(problems_in("{\"train\": {\"optimizer\": {\"lr\": 0}}}") == "x.json:1  /train/optimizer/lr: 0 is out of range; expected above 0");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"expansion\": 0}}}") ==
        "x.json:1  /model/ffn/expansion: 0 is out of range; expected above 0 and at most 1024");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"dropout\": 0.951}}}") ==
        "x.json:1  /model/ffn/dropout: 0.951 is out of range; expected between 0 and 0.95");
  CHECK(problems_in("{\"train\": {\"optimizer\": {\"beta1\": 1}}}") ==
        "x.json:1  /train/optimizer/beta1: 1 is out of range; expected between 0 and 0.9999999");
  CHECK(problems_in("{\"train\": {\"optimizer\": {\"beta2\": 0.99999995}}}") ==
        "x.json:1  /train/optimizer/beta2: 0.99999995 is out of range; expected between 0 and 0.9999999");
}

TEST_CASE("a duplicate key is an error with the line of the first") {
  CHECK(problems_in("{\"train\": {\"steps\": 1,\n\"batch_size\": 2,\n\"steps\": 3}}") ==
        "x.json:3  /train/steps: duplicate key \"steps\"; first used in line 1, remove one");
}

TEST_CASE("lists in messages are in the order of the catalogue") {
  CHECK(kActivations.find("identity, relu, leaky_relu, elu, gelu, gelu_tanh, quick_gelu, silu, mish, relu2, tanh, sigmoid, softplus") == 0);
  CHECK(kMetrics.find("train/loss, train/balance_loss, ") == 0);
  CHECK(list_of("train.optimizer").find("adamw, adam, sgd") == 0);
}

TEST_CASE("an unknown kind is answered with the nearest and all that exist") {
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"positonwise\"}}}") ==
        "x.json:1  /model/ffn/kind: unknown kind \"positonwise\"; did you mean \"positionwise\"? Known: " + list_of("model.ffn"));
  CHECK(problems_in("{\"task\": {\"kind\": \"chess\"}}") == "x.json:1  /task/kind: unknown kind \"chess\"; known: " + list_of("task"));
  CHECK(problems_in("{\"train\": {\"schedule\": {\"kind\": 3}}}") ==
        "x.json:1  /train/schedule/kind: unknown kind 3; known: " + list_of("train.schedule"));
  CHECK(problems_in("{\"train\": {\"optimizer\": {\"kind\": null}}}") ==
        "x.json:1  /train/optimizer/kind: unknown kind null; known: " + list_of("train.optimizer"));
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"moe\", \"router\": {\"kind\": \"softmax\"}}}}")
            .find("x.json:1  /model/ffn/router/kind: unknown kind \"softmax\"; ") == 0);
}

TEST_CASE("an unknown value of a choice is answered with the nearest and all that exist") {
  CHECK(problems_in("{\"model\": {\"ffn\": {\"activation\": \"ReLU\"}}}") ==
        "x.json:1  /model/ffn/activation: unknown value \"ReLU\"; did you mean \"relu\"? Known: " + kActivations);
  CHECK(problems_in("{\"model\": {\"norm\": {\"kind\": \"batch\"}}}") ==
        "x.json:1  /model/norm/kind: unknown value \"batch\"; known: none, layer, rms");
}

TEST_CASE("a text task without a text says what to set") {
  CHECK(problems_in("{\"task\": {\"kind\": \"text\"}}") == "x.json:1  /task/file: no text given; set task.file to a UTF-8 file");
  CHECK(problems_in("{\"task\": {\"kind\": \"text\",\n\"file\": \"\"}}") ==
        "x.json:2  /task/file: no text given; set task.file to a UTF-8 file");
}

TEST_CASE("a name that is not a directory name is refused with the allowed characters") {
  const std::string remedy = " is not a directory name; use up to 128 letters, digits and -_.+=, not starting with a dot or dash";
  CHECK(problems_in("{\"name\": \"a/b\"}") == "x.json:1  /name: \"a/b\"" + remedy);
  CHECK(problems_in("{\"name\": \"\"}") == "x.json:1  /name: \"\"" + remedy);
  CHECK(problems_in("{\"name\": \"..\"}") == "x.json:1  /name: \"..\"" + remedy);
  CHECK(problems_in("{\"name\": \"a b\"}") == "x.json:1  /name: \"a b\"" + remedy);
  CHECK(problems_in("{\"name\": \"a\\n\\u001bb\"}") == "x.json:1  /name: \"a\\n\\u001bb\"" + remedy);
  CHECK(problems_in("{\"name\": \"" + std::string(129, 'x') + "\"}").size() < 200);
  CHECK(problems_in("{\"name\": \"-rf\"}") == "x.json:1  /name: \"-rf\"" + remedy);
  CHECK(problems_in("{\"name\": \".x\"}") == "x.json:1  /name: \".x\"" + remedy);
  CHECK(problems_in("{\"name\": \"A-z_0.9+lr=3e-3\"}") == "");
}

TEST_CASE("a name that has a meaning of its own is refused") {
  for (const std::string name : {"a.old-1", "a.tmp-7-1", "run.json", "study.json", "checkpoint.safetensors", "log.txt"}) {
    CHECK(problems_in("{\"name\": \"" + name + "\"}") ==
          "x.json:1  /name: \"" + name + "\" is reserved: ffn-train uses it for its own files");
  }
  CHECK(problems_in("{\"name\": \"a.old\"}") == "");
}

TEST_CASE("a section of heads 0 is an error, not a division by zero") {
  CHECK(problems_in("{\"model\": {\"attention\": {\"heads\": 0}}}") ==
        "x.json:1  /model/attention/heads: 0 is out of range; expected at least 1");
}

TEST_CASE("all problems of one file are reported together, each in its line") {
  const std::string text =
      "{ // a file full of slips\n"                                  // 1
      "  \"name\": 5,\n"                                             // 2
      "  \"sead\": 1,\n"                                             // 3
      "  \"task\": { \"kind\": \"xor\", \"bits\": 99 },\n"           // 4
      "  \"model\": { \"d_model\": 30, /* not\n"                     // 5
      "     divisible */ \"attention\": { \"heads\": 4 },\n"         // 6
      "    \"ffn\": {\n"                                             // 7
      "      \"kind\": \"moe\", \"num_experts\": 2, \"top_k\": 3\n"  // 8
      "    ,\"activation\": \"gleu\"\n"                              // 9
      "  }},\n"                                                      // 10
      "  \"train\": { \"steps\": 3.7\n"                              // 11
      "  , \"optimizer\": { \"kind\": \"adamm\" },\n"                // 12
      "    \"target\": { \"metric\":\n"                              // 13
      "         \"val/acuracy\", \"at_least\": 1 } }\n"              // 14
      "}\n";
  for (const bool crlf : {false, true}) {
    std::string bytes;
    for (const char c : text) bytes += crlf && c == '\n' ? std::string("\r\n") : std::string(1, c);
    CHECK(problems_in(bytes) ==
          "x.json:2  /name: expected a string, got 5\n"
          "x.json:4  /task/bits: 99 is out of range; expected between 1 and 32\n"
          "x.json:9  /model/ffn/activation: unknown value \"gleu\"; did you mean \"gelu\"? Known: " +
              kActivations +
              "\n"
              "x.json:8  /model/ffn/top_k: top_k (3) exceeds num_experts (2)\n"
              "x.json:5  /model/d_model: d_model (30) is not divisible by attention.heads (4)\n"
              "x.json:11  /train/steps: expected an integer, got 3.7\n"
              "x.json:12  /train/optimizer/kind: unknown kind \"adamm\"; did you mean \"adamw\"? Known: " +
              list_of("train.optimizer") +
              "\n"
              "x.json:13  /train/target/metric: unknown value \"val/acuracy\"; did you mean \"val/accuracy\"? Known: " +
              kMetrics +
              "\n"
              "x.json:3  /sead: unknown key \"sead\"; did you mean \"seed\"?");
  }
  const auto error = thrown<ConfigError>([&] { run_from(text); });
  REQUIRE(error);
  CHECK(std::string(error->what()).find("x.json: 9 problems\n  x.json:2  /name: ") == 0);
  CHECK(error->hint() == "`ffn-train list keys` shows every key with its default");
}

TEST_CASE("a fact that rests on a value which could not be read is not held against the rest") {
  CHECK(problems_in("{\"model\": {\"ffn\": {\"kind\": \"moe\", \"num_experts\": \"two\", \"top_k\": 9}}}") ==
        "x.json:1  /model/ffn/num_experts: expected an integer, got \"two\"");
  CHECK(problems_in("{\"model\": {\"d_model\": 30, \"attention\": {\"heads\": \"two\"}}}") ==
        "x.json:1  /model/attention/heads: expected an integer, got \"two\"");
  CHECK(problems_in("{\"model\": {\"d_model\": 30, \"attention\": 4}}") ==
        "x.json:1  /model/attention: expected null or an object { … }, got 4");
  CHECK(problems_in("{\"model\": {\"ffn\": {\"d_ff\": 3.7, \"expansion\": 4}}}") ==
        "x.json:1  /model/ffn/d_ff: expected an integer, got 3.7");
  CHECK(problems_in("{\"task\": {\"kind\": \"txt\"}, \"train\": {\"target\": {\"metric\": \"val/perplexity\", \"at_most\": 3}}}") ==
        "x.json:1  /task/kind: unknown kind \"txt\"; did you mean \"text\"? Known: " + list_of("task"));
  CHECK(problems_in("{\"train\": {\"target\": {\"at_least\": \"high\"}}}") ==
        "x.json:1  /train/target/at_least: expected a number, got \"high\"");
  CHECK(problems_in("{\"task\": {\"kind\": \"sequence_xor\", \"length\": 1}}") ==
        "x.json:1  /task/length: 1 is out of range; expected between 2 and 4096");
}

TEST_CASE("defaults stay where nothing is written, also inside a section and after a kind is chosen") {
  const auto config =
      run_from(R"({"train": {"optimizer": {"kind": "sgd"}}, "model": {"attention": {}, "ffn": {"kind": "moe", "top_k": 1}}})");
  CHECK(std::get<SgdConfig>(config.train.optimizer).lr == 0.1);
  CHECK(config.train.steps == 1000);
  CHECK(config.model.attention->heads == 4);
  CHECK(std::get<MoeConfig>(config.model.ffn).num_experts == 8);
  CHECK(std::get<MoeConfig>(config.model.ffn).top_k == 1);
}

TEST_CASE("null means not set where a key is optional") {
  const auto config = run_from(R"({"model": {"attention": null, "ffn": {"d_ff": null, "expansion": 2}}, "train": {"target": null}})");
  CHECK(!config.model.attention);
  CHECK(!config.train.target);
  CHECK(std::get<PositionwiseConfig>(config.model.ffn).hidden_width(8) == 16);
}
