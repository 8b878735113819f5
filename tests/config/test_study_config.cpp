// Studies: axes, combinations, names, and what is wrong with them.
#include <chrono>

#include "config/helpers.hpp"
#include "ffn/config/study_config.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

std::string names(const Study& study) {
  std::string out;
  for (const auto& variant : study.variants) out += (out.empty() ? "" : " ") + variant.name;
  return out;
}
std::string study_axis(const std::string& json) {
  try {
    return Json(axis_values(Json::parse(json))).dump();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a document with seeds or a sweep is a study") {
  CHECK(is_study(parse_document(R"({"seeds": 2})", "s.json", "/")));
  CHECK(is_study(parse_document(R"({"sweep": {}})", "s.json", "/")));
  CHECK(!is_study(parse_document(R"({"seed": 2})", "s.json", "/")));
}

TEST_CASE("the values of an axis are a list, a logspace or a range") {
  CHECK(study_axis("[1, \"a\", null]") == "[1,\"a\",null]");
  CHECK(study_axis(R"({"logspace": [0.001, 0.1, 3]})") == "[0.001,0.01,0.1]");
  CHECK(study_axis(R"({"logspace": [0.001, 0.01, 3]})") == "[0.001,0.00316227766017,0.01]");
  CHECK(study_axis(R"({"logspace": [1, 100, 3]})") == "[1,10,100]");
  CHECK(study_axis(R"({"range": [0, 3, 1]})") == "[0,1,2]");
  CHECK(study_axis(R"({"range": [0.1, 0.4, 0.1]})") == "[0.1,0.2,0.3]");
  CHECK(study_axis(R"({"range": [3, 0, -1]})") == "[3,2,1]");
}

TEST_CASE("an axis that is none says what was expected and found") {
  const std::string forms = "expected a list of values, {\"logspace\": [low, high, count]} or {\"range\": [start, stop, step]}, got ";
  CHECK(study_axis("5") == forms + "5");
  CHECK(study_axis(R"({"linspace": [1, 2, 3]})") == forms + R"({"linspace":[1,2,3]})");
  CHECK(study_axis("[]") == "has no values");
  CHECK(study_axis(R"({"logspace": [1, 2]})") == "expected \"logspace\": [low, high, count], got [1,2]");
  CHECK(study_axis(R"({"range": "a"})") == "expected \"range\": [start, stop, step], got \"a\"");
  CHECK(study_axis(R"({"logspace": [0, 1, 3]})") == "\"logspace\" needs two positive ends and a count of at least 2, got [0,1,3]");
  CHECK(study_axis(R"({"logspace": [1, 2, 2.5]})") == "\"logspace\" needs two positive ends and a count of at least 2, got [1,2,2.5]");
  CHECK(study_axis(R"({"range": [0, 1, 0]})") == "\"range\" needs a step that leads from start to stop, got [0,1,0]");
  CHECK(study_axis(R"({"range": [0, 1, -1]})") == "\"range\" needs a step that leads from start to stop, got [0,1,-1]");
  CHECK(study_axis(R"({"range": [0, 1, 1e-300]})") == "\"range\" needs a step that leads from start to stop, got [0,1,1e-300]");
  CHECK(study_axis(R"({"range": [-1e308, 1e308, 1]})").find("needs a step") != std::string::npos);
}

TEST_CASE("a grid is crossed in its order, the last key fastest") {
  const auto study = study_from(
      R"({"name": "s", "seeds": 3, "sweep": {"grid": {"model.ffn.activation": ["relu", "gelu"], "model.ffn.expansion": [1, 2]}}})");
  CHECK(study.name == "s");
  CHECK(study.seeds == std::vector<std::int64_t>{0, 1, 2});
  CHECK(names(study) == "activation=relu+expansion=1 activation=relu+expansion=2 activation=gelu+expansion=1 activation=gelu+expansion=2");
  const auto& last = std::get<PositionwiseConfig>(study.variants[3].config.model.ffn);
  CHECK(last.activation == "gelu");
  CHECK(last.expansion == 2);
  CHECK(study.variants[3].assignments.size() == 2);
  CHECK(study.variants[3].assignments[0].key == "model.ffn.activation");
}

TEST_CASE("zipped keys move together, crossed with the grid") {
  const auto study =
      study_from(R"({"sweep": {"grid": {"model.blocks": [1]}, "zip": [{"model.d_model": [8, 16], "train.optimizer.lr": [0.1, 0.01]}]}})");
  CHECK(names(study) == "blocks=1+d_model=8+lr=0.1 blocks=1+d_model=16+lr=0.01");
  CHECK(study.variants[1].config.model.d_model == 16);
  CHECK(std::get<AdamWConfig>(study.variants[1].config.train.optimizer).lr == 0.01);
}

TEST_CASE("include adds variants and exclude takes combinations away") {
  CHECK(names(study_from(R"({"sweep": {"grid": {"model.blocks": [1, 2], "model.d_model": [8, 16]},
                                       "exclude": [{"model.blocks": 2, "model.d_model": 16.0}], "include": [{"model.blocks": 5}]}})")) ==
        "blocks=1+d_model=8 blocks=1+d_model=16 blocks=2+d_model=8 blocks=5");
  CHECK(names(study_from(R"({"sweep": {"include": [{"model.blocks": 5}, {"model.blocks": 6}]}})")) == "blocks=5 blocks=6");
}

TEST_CASE("a study without a sweep is its base, once per seed") {
  const auto study = study_from(R"({"seeds": [4, 7]})");
  CHECK(names(study) == "base");
  CHECK(study.seeds == std::vector<std::int64_t>{4, 7});
  CHECK(study_from(R"({"sweep": {}})").seeds == std::vector<std::int64_t>{0});
}

TEST_CASE("keys that end alike are told apart in names, and names fit a directory") {
  CHECK(names(study_from(R"({"sweep": {"grid": {"model.norm.kind": ["rms"], "model.ffn.kind": ["gated"]}}})")) ==
        "model-norm-kind=rms+model-ffn-kind=gated");
  CHECK(names(study_from(R"({"sweep": {"grid": {"task.kind": ["text"], "task.file": ["a b/φ.txt"]}}})")) == "kind=text+file=a_b___.txt");
  const auto longer = names(study_from("{\"sweep\": {\"grid\": {\"name\": [\"" + std::string(120, 'x') + "\"]}}}"));
  CHECK(longer.size() == 100);
}

TEST_CASE("a relative text in a sweep starts at the study's file") {
  const auto study = study_from(R"({"task": {"kind": "text", "file": "base.txt"}, "sweep": {"grid": {"task.file": ["a.txt", "/b.txt"]}}})");
  CHECK(std::get<TextConfig>(study.variants[0].config.task).file == "/configs/a.txt");
  CHECK(std::get<TextConfig>(study.variants[1].config.task).file == "/b.txt");
}

TEST_CASE("a wrong value in a sweep is reported where it stands") {
  CHECK(
      problems_in_study("{\"sweep\": {\n\"grid\": {\n\"model.blocks\": [1, 0],\n\"model.ffn.activation\": [\n\"relu\",\n\"gelo\"]}}}")
          .find("s.json:3  /sweep/grid/model.blocks/1: 0 is out of range; expected between 1 and 256 (in variant blocks=0+activation=relu "
                "and 1 more)") != std::string::npos);
  CHECK(problems_in_study("{\"sweep\": {\n\"grid\": {\n\"model.blocks\": [1],\n\"model.ffn.activation\": [\n\"relu\",\n\"gelo\"]}}}")
            .find("s.json:6  /sweep/grid/model.ffn.activation/1: unknown value \"gelo\"; did you mean \"gelu\"? ") == 0);
  CHECK(problems_in_study("{\"sweep\": {\n\"grid\": {\n\"model.fnn.d_ff\": [1]}}}") ==
        "s.json:3  /sweep/grid/model.fnn.d_ff: unknown key \"fnn\"; did you mean \"ffn\"? (in variant d_ff=1)");
  CHECK(problems_in_study("{\"sweep\": {\n\"include\": [{},\n{\"model.blocks\": 0}],\n\"zip\": [{\"train.steps\":\n[1,\n0]}]}}") ==
        "s.json:2  /sweep/include/0: expected an object key → value, got {}\n"
        "s.json:6  /sweep/zip/0/train.steps/1: 0 is out of range; expected at least 1 (in variant steps=0)\n"
        "s.json:3  /sweep/include/1/model.blocks: 0 is out of range; expected between 1 and 256 (in variant blocks=0)");
  CHECK(problems_in_study("{\"sweep\": {\"grid\": {\n\"seed.x\": [1]}}}") ==
        "s.json:2  /sweep/grid/seed.x/0: expected an integer, got {\"x\":1} (in variant x=1)");
  CHECK(problems_in_study("{\"seed\": 3, \"sweep\": {\"grid\": {\n\"seed.x\": [1]}}}") ==
        "s.json:2  /sweep/grid/seed.x/0: s.json: seed is 3, so it has no key \"x\"");
}

TEST_CASE("a key and a value of a sweep are reported at their place in the file, those of the command line at theirs") {
  CHECK(problems_in_study("{\"sweep\": {\"grid\": {\n\"activation\": [\n\"relu\",\n\"gelu\"]}}}")
            .find("s.json:2  /sweep/grid/activation: unknown key \"activation\"; did you mean model.ffn.activation?") == 0);
  CHECK(problems_in_study("{\"sweep\": {\"grid\": {\n\"activation\": [\n\"relu\",\n\"gelu\"]}}}").find('\n') == std::string::npos);  // once
  CHECK(problems_in_study(
            "{\"sweep\": {\"grid\": {\n\"model.ffn\": [{\"kind\": \"gated\"},\n{\"kind\": \"gated\",\n\"activation\": \"relo\"}]}}}")
            .find("/sweep/grid/model.ffn/1/activation: unknown value \"relo\"") != std::string::npos);
  CHECK(problems_in_study("{\"tune\": {\n\"train.optimizer.lr\": [0.1, -2]}}")
            .find("s.json:2  /tune/train.optimizer.lr: -2 is out of range") == 0);
  CHECK(problems_in_study("{\"train\": {\"steps\": 0}, \"sweep\": {\"grid\": {\"model.blocks\": [1, 2]}}}") ==
        "s.json:1  /train/steps: 0 is out of range; expected at least 1");
}

TEST_CASE("a swept formula that has another one's name is refused where it stands, tuned or not") {
  const std::string sweep =
      "{\"sweep\": {\"grid\": {\"model.ffn\": [\n{\"kind\": \"formula\", \"name\": \"maxout\"},\n{\"kind\": \"formula\", \"name\": "
      "\"reglu\", \"formula\": \"relu(x @ u) @ d\", \"parameters\": {\"u\": [\"D\", \"F\"], \"d\": [\"F\", \"D\"]}}]}}";
  for (const std::string tune : {"", ", \"tune\": {\"train.optimizer.lr\": [0.1, 0.2]}"})
    CHECK(problems_in_study(sweep + tune + "}") ==
          "s.json:3  /sweep/grid/model.ffn/1/name: \"reglu\" is what another formula is called; choose a name of your own for this one (in "
          "variant ffn=reglu)");
}

TEST_CASE("problems of the base are reported once, not once per variant") {
  CHECK(problems_in_study("{\"train\": {\"steps\": 0},\n\"sweep\": {\"grid\": {\"model.blocks\": [1, 2, 3]}}}") ==
        "s.json:1  /train/steps: 0 is out of range; expected at least 1");
}

TEST_CASE("problems of the sweep itself are reported together") {
  CHECK(problems_in_study("{\"seeds\": [1, 1, -1, 2.5],\n\"sweep\": {\"grid\": {\"model.blocks\": []},\n\"zip\": [{\"model.d_model\": [1, "
                          "2],\n\"seed\": [1]}, 5],\n\"exclude\": [3]}}") ==
        "s.json:1  /seeds: seed 1 is listed twice; seeds are replicates\n"
        "s.json:1  /seeds: expected integers of at least 0, got -1\n"
        "s.json:1  /seeds: expected integers of at least 0, got 2.5\n"
        "s.json:2  /sweep/grid/model.blocks: has no values\n"
        "s.json:3  /sweep/zip/0: \"seed\" has 1 values, \"model.d_model\" has 2; keys that move together need equally many\n"
        "s.json:4  /sweep/zip/1: expected an object key → values, got 5\n"
        "s.json:5  /sweep/exclude/0: expected an object key → value, got 3");
  CHECK(problems_in_study(R"({"seeds": 0})") == "s.json:1  /seeds: expected a count between 1 and 100000, got 0");
  CHECK(problems_in_study(R"({"seeds": "many"})") ==
        "s.json:1  /seeds: expected a count, a list of seeds, or {\"until\": \"settled\"}, got \"many\"");
  CHECK(problems_in_study(R"({"sweep": 5})") == "s.json:1  /sweep: expected an object { … }, got 5");
  CHECK(problems_in_study(R"({"sweep": {"gird": {}}})") == "s.json:1  /sweep/gird: unknown key \"gird\"; did you mean \"grid\"?");
  CHECK(problems_in_study(R"({"sweep": {"grid": {"model.blocks": [1]}, "exclude": [{"model.blocks": 2}]}})") ==
        "s.json:1  /sweep/exclude/0: matches no variant; it names keys or values that are not swept");
  CHECK(problems_in_study(R"({"sweep": {"grid": {"model.blocks": [1]}, "exclude": [{"model.blocks": 1}]}})") ==
        "s.json:1  /sweep: no variant is left");
  CHECK(problems_in_study(R"({"sweep": {"grid": {"model.ffn.activation": ["relu", "relu"]}}})") ==
        "s.json:1  /sweep: the variant activation=relu occurs twice");
  CHECK(problems_in_study(R"({"sweep": {"grid": {"model.blocks": [1]}, "include": [{"model.blocks": 1.0}]}})") ==
        "s.json:1  /sweep: the variant blocks=1.0 occurs twice");
}

TEST_CASE("values that are equal as numbers are one value") {
  CHECK(names(study_from(R"({"sweep": {"grid": {"model.ffn.expansion": [1, 1.0, 2]}}})")) == "expansion=1 expansion=2");
  CHECK(names(study_from("{\"seeds\": 2}", {"model.ffn.expansion=1,1.0,2,2"})) == "expansion=1 expansion=2");
}

TEST_CASE("variants whose names become equal get a hash of their values, whatever their order") {
  const auto of = [](const std::string& one, const std::string& other) {
    return study_from(R"({"seeds": 2, "task": {"kind": "text", "file": "x.txt"}})", {"task.file=" + one + "," + other});
  };
  const auto both = of("/a/b.txt", "/a_b.txt"), turned = of("/a_b.txt", "/a/b.txt");
  REQUIRE(both.variants.size() == 2);
  CHECK(both.variants[0].name.rfind("file=_a_b.txt-", 0) == 0);
  CHECK(both.variants[0].name != both.variants[1].name);
  CHECK(both.variants[0].name == turned.variants[1].name);
  CHECK(both.variants[1].name == turned.variants[0].name);
  CHECK(names(of("/a/b.txt", "/c.txt")) == "file=_a_b.txt file=_c.txt");
}

TEST_CASE("a key of a section that the sweep sets whole is refused, or swept within each of its values") {
  const std::string whole =
      R"({"sweep": {"grid": {"model.ffn": [{"kind": "positionwise", "activation": "relu"},
                                       {"kind": "positionwise", "activation": "gelu"}]}}})";
  CHECK(message<UsageError>([&] { study_from(whole, {"model.ffn.kind=gated"}); }) ==
        "override 'model.ffn.kind=gated' would have no effect: the sweep sets model.ffn whole");
  const std::string zipped = R"({"sweep": {"zip": [{"model.ffn": [{"kind": "gated"}], "seed": [1]}]}})";
  CHECK(message<UsageError>([&] { study_from(zipped, {"model.ffn.d_ff=8"}); }) ==
        "override 'model.ffn.d_ff=8' would have no effect: the sweep sets model.ffn whole");
  const std::string included = R"({"sweep": {"include": [{"model.ffn": {"kind": "gated"}}, {"model.ffn": {"kind": "none"}}]}})";
  CHECK(message<UsageError>([&] { study_from(included, {"model.ffn.d_ff=8"}); }) ==
        "override 'model.ffn.d_ff=8' would have no effect: the sweep sets model.ffn whole");
  for (const std::vector<std::string>& swept :
       {std::vector<std::string>{"model.ffn.kind=positionwise,gated"}, {"model.ffn.kind=positionwise,gated", "train.steps=7"}}) {
    const auto study = study_from(whole, swept);
    REQUIRE(study.variants.size() == 4);
    CHECK(std::holds_alternative<GatedConfig>(study.variants[1].config.model.ffn));
    CHECK(std::holds_alternative<PositionwiseConfig>(study.variants[2].config.model.ffn));
  }
  CHECK(std::holds_alternative<GatedConfig>(
      study_from("{}",
                 {"model.ffn.kind=positionwise,gated", R"(model.ffn={"kind": "positionwise"},{"kind": "positionwise", "expansion": 2})"})
          .variants[3]
          .config.model.ffn));
  // Some variants have the section of the file: the key reaches them.
  CHECK(study_from(R"({"sweep": {"include": [{"model.attention": null}, {"model.ffn.d_ff": 8}]}})", {"model.attention.heads=2"})
            .variants.size() == 2);
}

TEST_CASE("keys of text take what was typed") {
  CHECK(study_from("{\"seeds\": 2}", {"name=20240101"}).name == "20240101");
  CHECK(study_from("{\"seeds\": 2}", {"name=1e3"}).name == "1e3");
  CHECK(study_from("{\"seeds\": 2}", {"name=\"quoted\""}).name == "quoted");
  CHECK(study_from("{\"seeds\": 2}", {"model.ffn.expansion=1,2", "compare.reference=2"}).config.compare.reference == "2");
  CHECK(study_from("{\"seeds\": 2}", {"question=null"}).config.question == "null");
  CHECK(names(study_from(R"({"seeds": 2, "task": {"kind": "text", "file": "x.txt"}})", {"task.file=1,2"})) == "file=1 file=2");
}

TEST_CASE("a mistake that several variants share is said once") {
  CHECK(problems_in_study("{\"sweep\": {\"grid\": {\"model.blocks\": [1, 2],\n\"train.stesp\": [5]}}}") ==
        "s.json:2  /sweep/grid/train.stesp: unknown key \"stesp\"; did you mean \"steps\"?");
  CHECK(
      problems_in_study("{\"sweep\": {\"grid\": {\"model.blocks\": [1, 2, 3],\n\"model.d_model\": [0, 8]}}}") ==
      "s.json:2  /sweep/grid/model.d_model/0: 0 is out of range; expected between 1 and 65536 (in variant blocks=1+d_model=0 and 2 more)");
}

TEST_CASE("a key of one kind that is swept in a grid with another kind is refused once") {
  const char* expected = "s.json:1  /sweep/grid/model.ffn.top_k: unknown key \"top_k\"; only kind moe or pkm or peer has it (in variant ";
  CHECK(problems_in_study(R"({"sweep": {"grid": {"model.ffn.kind": ["positionwise", "moe"], "model.ffn.top_k": [1, 2]}}})") ==
        expected + std::string("kind=positionwise+top_k=1 and 1 more)"));
  CHECK(problems_in_study(R"({"sweep": {"grid": {"model.ffn.top_k": [1, 2], "model.ffn.kind": ["positionwise", "moe"]}}})") ==
        expected + std::string("top_k=1+kind=positionwise and 1 more)"));
  CHECK(names(study_from(
            R"({"sweep": {"grid": {"model.ffn.kind": ["moe"], "model.ffn.top_k": [1, 2]},
                        "include": [{"model.ffn.kind": "positionwise"}]}})")) == "kind=moe+top_k=1 kind=moe+top_k=2 kind=positionwise");
}

TEST_CASE("variants of include are compared whole unless a key is named") {
  const auto included = study_from(R"({"sweep": {"include": [{"model.blocks": 1}, {"model.blocks": 2}]}})");
  CHECK(included.config.compare.by == "variant");
  CHECK((*included.document)["compare"]["by"] == "variant");
  CHECK(study_from(R"({"sweep": {"include": [{"model.blocks": 1}]}, "compare": {"by": "model.blocks"}})").config.compare.by ==
        "model.blocks");
  CHECK(study_from(R"({"sweep": {"grid": {"model.blocks": [1, 2]}}})").config.compare.by.empty());
}

TEST_CASE("a metric that no variant logs cannot be compared") {
  const auto metric = [](const std::string& name, const std::string& more = "") {
    return problems_in_study("{\"seeds\": 2,\n\"compare\": {\"metric\": \"" + name + "\"}" + more + "}");
  };
  CHECK(metric("val/acuracy")
            .find("s.json:2  /compare/metric: unknown metric \"val/acuracy\"; did you mean \"val/accuracy\"? Known: steps_to_target, ") ==
        0);
  CHECK(metric("val/perplexity") == "s.json:2  /compare/metric: no variant logs val/perplexity: it is logged for text tasks only");
  CHECK(metric("train/balance_loss") ==
        "s.json:2  /compare/metric: no variant logs train/balance_loss: it is logged for models with a mixture of experts only");
  CHECK(metric("train/balance_loss", R"(, "sweep": {"grid": {"model.ffn.kind": ["positionwise", "moe"]}})").empty());
  CHECK(metric("steps_to_target") ==
        "s.json:2  /compare/metric: no variant has a target, so there is no steps_to_target; set train.target, or compare val/loss");
  CHECK(metric("flops_to_target", R"(, "train": {"target": {"at_least": 0.9}})").empty());
}

TEST_CASE("a width that is swept over the other way to say it replaces that") {
  const auto study = study_from(R"({"model": {"ffn": {"expansion": 2}}, "sweep": {"grid": {"model.ffn.d_ff": [8, 16]}}})");
  CHECK(size_of(study.variants[1].config.model.ffn)->hidden_width(32) == 16);
}

TEST_CASE("a sweep that explodes is refused at once") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(problems_in_study(
            R"({"sweep": {"grid": {"model.blocks": {"range": [0, 10000, 1]}, "train.steps": {"range": [1, 10001, 1]},
                                 "train.batch_size": {"range": [1, 10001, 1]}}}})") == "s.json:1  /sweep: more than 10000 variants");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(1));
}

TEST_CASE("commas on the command line make an axis, a single value replaces one") {
  const auto study =
      study_from(R"({"sweep": {"grid": {"model.blocks": [1, 2]}}})", {"model.ffn.activation=relu,gelu", "model.blocks=3", "train.steps=7"});
  CHECK(names(study) == "blocks=3+activation=relu blocks=3+activation=gelu");
  CHECK(study.variants[0].config.train.steps == 7);
  CHECK(names(study_from("{}", {"model.d_model=8,16"})) == "d_model=8 d_model=16");
  CHECK(names(study_from("{}", {"sweep.grid={\"model.d_model\": [8, 16]}"})) == "d_model=8 d_model=16");
  CHECK(study_from("{}", {"seeds=5"}).seeds.size() == 5);
  CHECK(study_from("{}", {"seeds=[3,4]"}).seeds == std::vector<std::int64_t>{3, 4});
}

TEST_CASE("an override of a key that the file moves together with others is refused instead of ignored") {
  CHECK(message<UsageError>([] { study_from(R"({"sweep": {"zip": [{"model.blocks": [1, 2]}]}})", {"model.blocks=3"}); }) ==
        "override 'model.blocks=3' would have no effect: the file sweeps model.blocks in zip or include");
}

TEST_CASE("a kind chosen on top of a config leaves the older kind's keys without meaning, not wrong") {
  const std::string moe = R"({"model": {"ffn": {"kind": "moe", "num_experts": 4}}})";
  CHECK(std::holds_alternative<GatedConfig>(study_from(moe, {"model.ffn.kind=gated"}).variants[0].config.model.ffn));
  CHECK(names(study_from(moe, {"model.ffn.kind=gated,none"})) == "kind=gated kind=none");
  const std::string routed = R"({"model": {"ffn": {"kind": "moe", "router": {"kind": "softmax_top_k"}}}})";
  CHECK(std::holds_alternative<GatedConfig>(study_from(routed, {"model.ffn.kind=gated"}).variants[0].config.model.ffn));
  CHECK(problems_in_study(R"({"model": {"ffn": {"kind": "gated", "num_experts": 4}}})").find("unknown key \"num_experts\"") !=
        std::string::npos);
}

TEST_CASE("overrides of one command mean the same in whatever order they stand") {
  const std::string moe = R"({"model": {"ffn": {"kind": "moe", "num_experts": 4}}})";
  for (const auto& overrides :
       {std::vector<std::string>{"model.ffn.kind=gated", "model.ffn.top_k=1"}, {"model.ffn.top_k=1", "model.ffn.kind=gated"}})
    CHECK(problems_in_study(moe, overrides).find("unknown key \"top_k\"") != std::string::npos);
  for (const auto& overrides : {std::vector<std::string>{"model.ffn.activation_parameters={\"beta\": 1}", "model.ffn.activation=gelu"},
                                {"model.ffn.activation=gelu", "model.ffn.activation_parameters.beta=1"}})
    CHECK(problems_in_study("{}", overrides).find("the activation \"gelu\" has no parameter 'beta'") != std::string::npos);
  for (const auto& overrides :
       {std::vector<std::string>{"model.ffn.d_ff=8", "model.ffn.expansion=2"}, {"model.ffn.expansion=2", "model.ffn.d_ff=8"}})
    CHECK(problems_in_study("{}", overrides).find("both d_ff (8) and expansion are set") != std::string::npos);
}

TEST_CASE("a wrong value of an axis on the command line names its override") {
  CHECK(problems_in_study("{}", {"model.blocks=1,0"}) ==
        "override 'model.blocks=1,0'  /model/blocks: 0 is out of range; expected between 1 and 256 (in variant blocks=0)");
}

TEST_CASE("an axis on the command line goes through the checks of every override") {
  const auto refusal = [](const std::string& text, const std::string& override_text) {
    return message<UsageError>([&] { study_from(text, {override_text}); });
  };
  CHECK(refusal(R"({"sweep": 5})", "model.blocks=1,2") == "override 'model.blocks=1,2': /sweep/grid is not an object { … }");
  CHECK(refusal(R"({"sweep": {"grid": []}})", "model.blocks=1,2") == "override 'model.blocks=1,2': /sweep/grid is not an object { … }");
  CHECK(refusal("{}", "task.file=a\xFF,b") == "an override is not valid UTF-8 at byte 11");
  CHECK(refusal("{}", "model.blocks=a," + repeated("[", 10'000) + repeated("]", 10'000)).find(": nested deeper than 64 levels") !=
        std::string::npos);
  CHECK(refusal("{}", "task={\"bits\": 1, \"bits\": 2},{}").find(": duplicate key \"bits\"") != std::string::npos);
  CHECK(names(study_from(R"({"sweep": null})", {"model.blocks=1,2"})) == "blocks=1 blocks=2");
}

TEST_CASE("a variant's name never looks like something that was moved aside") {
  CHECK(names(study_from(
            R"({"task": {"kind": "text", "file": "t"}, "seeds": 1, "sweep": {"grid": {"task.file": ["a.old-1", "b.tmp-2"]}}})")) ==
        "file=a_old-1 file=b_tmp-2");
}

TEST_CASE("threads, which change no result, are refused wherever they would be compared") {
  const std::string why = "threads change no result, so there is nothing to compare; --threads N sets them for all runs";
  CHECK(problems_in_study(R"({"seeds": 2})", {"compute.threads=1,2"}) == "s.json:1  /sweep: " + why);
  CHECK(problems_in_study(R"({"sweep": {"grid": {"compute.threads": [1, 2]}}})") == "s.json:1  /sweep: " + why);
  CHECK(problems_in_study(R"({"sweep": {"include": [{"compute.threads": 2}]}})") == "s.json:1  /sweep: " + why);
  CHECK(problems_in_study(R"({"seeds": 2, "tune": {"compute.threads": [1, 2]}})") == "s.json:1  /tune/compute.threads: " + why);
  CHECK(problems_in_study(R"({"seeds": 2, "compare": {"by": "compute.threads"}})") == "s.json:1  /compare/by: " + why);
  CHECK(problems_in_study(R"({"seeds": 2})", {"compute.threads=2"}).empty());
}

TEST_CASE("keys that change no result are refused as axes of a grid") {
  for (const std::string axis : {"keep=all,summary", "train.checkpoint_every=10,20", "log.layers=true,false"}) {
    const std::string key = axis.substr(0, axis.find('='));
    const std::string why = key + " changes no result, so there is nothing to compare; give it one value";
    CHECK(problems_in_study(R"({"seeds": 2})", {axis}) == "s.json:1  /sweep: " + why);
    CHECK(problems_in_study(R"({"seeds": 2, "compare": {"by": ")" + key + R"("}})") == "s.json:1  /compare/by: " + why);
  }
  CHECK(problems_in_study(R"({"sweep": {"include": [{"model.ffn.activation": "relu"}, {"keep": "summary"}]}})").empty());
}
