// A study's ladder: which sizes, batches, steps and rates its variants get, and what is refused.
#include <array>
#include <cmath>

#include "config/helpers.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using namespace ffn::test;

namespace {

const std::string kLadder = R"("ladder": {"values": [16, 32, 48], "hold_out": [64, 96, 128], "tokens_per_param": 20)";

/// Two layers without norms and biases: 12 · 2 · d_model² parameters.
std::string study(const std::string& ladder, const std::string& more = "") {
  return R"({"name": "s", "task": {"kind": "text", "file": "x.txt", "context": 128}, "model": {"d_model": 16, "blocks": 2,
    "attention": {"heads": 1, "bias": false}, "norm": {"kind": "none"}, "residual": true, "ffn": {"bias": false}},
    "train": {"optimizer": {"kind": "adamw", "lr": 0.016}}, "sweep": {"grid": {"model.ffn.activation": ["gelu", "relu2"]}}, )" +
         ladder + "}" + more + "}";
}

}  // namespace

// Steps and batches of a ladder that was tried by hand by the same rules.
TEST_CASE("a ladder gives batch, steps, rate and heads by the number of parameters", "[ladder]") {
  const auto read = study_from(study(kLadder));
  REQUIRE(read.variants.size() == 12);
  const std::vector<std::array<std::int64_t, 3>> expected{{240, 4, 1},  {384, 10, 2}, {540, 16, 3},
                                                          {640, 24, 4}, {843, 41, 6}, {1007, 61, 8}};
  for (std::size_t i = 0; i < read.variants.size(); ++i) {
    const auto& [steps, batch, heads] = expected[i % 6];
    const auto& config = read.variants[i].config;
    CHECK(config.train.steps == steps);
    CHECK(config.train.batch_size == batch);
    CHECK(config.model.attention->heads == heads);
    CHECK(read.variants[i].rung == i % 6);
  }
  CHECK(read.variants[0].name == "activation=gelu+d_model=16");
  CHECK(read.variants[11].name == "activation=relu2+d_model=128");
  const auto rate = [&](std::size_t i) { return std::get<AdamWConfig>(read.variants[i].config.train.optimizer).lr; };
  CHECK(rate(0) == 0.016);
  CHECK(rate(3) == Approx(0.016 * std::pow(4, -2.0 / 3)).epsilon(5e-3));  // N is 16 times as large
  CHECK(rate(6 + 5) == Approx(0.004).epsilon(5e-3));
}

TEST_CASE("what a ladder's rules set can be given for each size", "[ladder]") {
  const auto read = study_from(study(R"("ladder": {"values": [16, 32], "tokens_per_param": 20,
    "with": {"train.batch_size": [8, 8], "train.optimizer.lr": [0.1, 0.2], "model.attention.heads": [2, 2]})"));
  const auto& config = read.variants[1].config;
  CHECK(config.train.batch_size == 8);
  CHECK(config.train.steps == 20 * 24'576 / (8 * 128));  // the tokens stay
  CHECK(std::get<AdamWConfig>(config.train.optimizer).lr == 0.2);
  CHECK(config.model.attention->heads == 2);
  const auto without_rules = study_from(study(R"("ladder": {"values": [16, 32])"));
  CHECK(without_rules.variants[1].config.model.d_model == 32);
  CHECK(without_rules.variants[1].config.train.steps == without_rules.variants[0].config.train.steps);
  CHECK(std::get<AdamWConfig>(without_rules.variants[1].config.train.optimizer).lr == 0.016);
}

TEST_CASE("a ladder is tuned at each size, or at the smallest and follows the rule", "[ladder]") {
  const std::string tune = R"(, "tune": {"train.optimizer.lr": [0.01, 0.02], "seeds": 2})", values = R"("ladder": {"values": [16, 64], )";
  const auto each = study_from(study(values + R"("tokens_per_param": 20)", tune));
  CHECK(tuning_study(each).variants.size() == 4 * 2);
  const auto smallest = study_from(study(values + R"("tokens_per_param": 20, "tuned_at": "smallest")", tune));
  const auto tuning = tuning_study(smallest);
  REQUIRE(tuning.variants.size() == 2 * 2);
  for (const auto& variant : tuning.variants) CHECK(variant.config.model.d_model == 16);
  const auto rates = [](const Study& chosen) {
    std::vector<double> out;
    for (const auto& variant : chosen.variants) out.push_back(std::get<AdamWConfig>(variant.config.train.optimizer).lr);
    return out;
  };
  CHECK(rates(with_choices(smallest, {{1}, {0}})) == std::vector<double>{0.02, 0.00794, 0.01, 0.00397});  // 16^(−2/3) at 16 times N
  CHECK(rates(with_choices(each, {{1}, {0}, {0}, {1}})) == std::vector<double>{0.02, 0.01, 0.01, 0.02});
}

TEST_CASE("a ladder that cannot be climbed is refused", "[ladder]") {
  const auto problems = [](const std::string& ladder, const std::string& more = "", const std::vector<std::string>& overrides = {}) {
    return problems_in_study(study(ladder, more), overrides);
  };
  const std::string two = R"("ladder": {"values": [16, 32])";
  CHECK(problems(two).empty());
  CHECK_THAT(problems(R"("ladder": {"values": [16])"), ContainsSubstring("at least 2 values"));
  CHECK_THAT(problems(R"("ladder": {"values": [32, 16])"), ContainsSubstring("ascending positive numbers"));
  CHECK_THAT(problems(R"("ladder": {"values": [16, 32], "hold_out": [24])"), ContainsSubstring("those held out last"));
  CHECK_THAT(problems(R"("ladder": {"values": [16, 40])"), ContainsSubstring("no multiple of a head's width, 16"));
  CHECK_THAT(problems(R"("ladder": {"values": [16, 32], "with": {"train.steps": [3]})"), ContainsSubstring("a list of 2 values"));
  CHECK_THAT(problems(R"("ladder": {"key": "model.blocks", "values": [1, 2], "with": {"model.blocks": [3, 4]})"),
             ContainsSubstring("is the size itself"));
  CHECK_THAT(problems(R"("ladder": {"values": [16, 32], "tokens_per_s": {"gelu": 0})"), ContainsSubstring("needs a number above 0, got 0"));
  CHECK_THAT(problems(two, "", {"model.d_model=16,32"}), ContainsSubstring("is swept, and the ladder sets it"));
  CHECK_THAT(problems(two, "", {"model.d_model=16"}), ContainsSubstring("set ladder.values, or ladder=null"));
  CHECK_THAT(problems(R"("ladder": {"values": [16, 32], "tokens_per_param": 20)", "", {"train.steps=7"}),
             ContainsSubstring("would have no effect"));
  CHECK_THAT(problems(two, R"(, "tune": {"model.d_model": [16, 32]})"), ContainsSubstring("the ladder sets \"model.d_model\""));
  CHECK_THAT(problems(two, R"(, "seeds": {"until": "settled"})"), ContainsSubstring("set \"seeds\" to a number"));
  CHECK_THAT(problems(two, R"(, "compare": {"metric": "val/accuracy"})"), ContainsSubstring("val/accuracy is none"));
  CHECK_THAT(problems(two, R"(, "compare": {"by": "model.d_model"})"), ContainsSubstring("is the ladder's size"));
  CHECK_THAT(problems(two, "", {"sweep={}"}), ContainsSubstring("one variant has nothing to be compared with"));
  CHECK_THAT(problems(R"("ladder": {"values": [16, 32], "tokens_per_param": 20)", "",
                      {R"(task={"kind": "function", "name": "spiral"})", "model.attention=null"}),
             ContainsSubstring("tokens are of a text"));
  CHECK(study_from(study(two), {"ladder=null"}).variants.size() == 2);
}
