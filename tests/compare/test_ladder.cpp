// A ladder's answer, over runs that were never trained: their losses lie on a law, or are bent away from it.
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "ffn/compare/compare.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/ladder.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr std::size_t kSeeds = 8;
constexpr double kTokens = 64;  // a step
const std::vector<std::string> kSizes{"48", "64", "96", "128"};
const std::vector<std::string> kRates{"0.03", "0.025", "0.02", "0.018"};  // the smallest size has the largest

/// Losses E + A · C^−α, times e^noise of the seed; `bend` is of the largest size.
struct Made {
  double scale, exponent = .2, bend = 1, accuracy = .5;
  std::string kind = "text";
  std::int64_t steps = 100'000;
  double noise = .0003;
};

void add_runs(std::vector<FoundRun>& runs, const std::string& activation, const Made& made, double seconds) {
  for (std::size_t k = 0; k < kSizes.size(); ++k) {
    for (std::size_t seed = 0; seed < kSeeds; ++seed) {
      FoundRun run;
      run.variant = "activation=" + activation + "+d_model=" + kSizes[k];
      run.path = "study/" + run.variant + "/seed-" + std::to_string(seed);
      run.seed = static_cast<std::int64_t>(seed);
      run.keys = {{"model.ffn.activation", activation},
                  {"model.d_model", kSizes[k]},
                  {"model.attention.heads", std::to_string(k)},  // goes along, and comes first in the alphabet
                  {"train.optimizer.lr", kRates[k]},
                  {"task.kind", made.kind},
                  {"task.file", "nowhere.txt"}};
      run.state = RunState::done;
      run.budget_steps = made.steps;
      run.tokens_per_step = static_cast<std::int64_t>(kTokens);
      const double width = std::stod(kSizes[k]);
      run.flops_per_token = static_cast<std::int64_t>(width * width);
      const double compute = 3 * width * width * kTokens * static_cast<double>(made.steps);
      // The seed's luck differs from size to size, so that a size says something of its own; each variant has a little noise.
      const double luck =
          .001 * std::sin(1.0 + 7.0 * static_cast<double>(seed) + 3.0 * static_cast<double>(k)) +
          made.noise * std::sin(static_cast<double>(activation.size()) * static_cast<double>(seed + 1) + static_cast<double>(k));
      const double loss = (.9 + made.scale * std::pow(compute / 1e10, -made.exponent)) * std::exp(luck) * (k == 3 ? made.bend : 1);
      run.summary = RunSummary();
      run.summary->train_seconds = seconds;
      run.summary->cost = {1'000'000, 1'000'000, run.flops_per_token};
      run.summary->metrics = {{"val/loss", loss, {}}, {"val/accuracy", made.accuracy, {}}};
      runs.push_back(run);
    }
  }
}

Comparison answer(const Made& gelu, const Made& relu2, const std::function<void(CompareRequest&)>& change = nullptr) {
  std::vector<FoundRun> runs;
  add_runs(runs, "gelu", gelu, 10);
  add_runs(runs, "relu2", relu2, 8);
  CompareRequest request;
  request.config.by = "model.ffn.activation";
  request.config.metric = "val/loss";
  request.resamples = 200;
  request.in_given_order = true;
  request.ladder = LadderConfig();
  request.ladder->values = JsonValue(Json{48, 64, 96});
  request.ladder->hold_out = JsonValue(Json{128});
  if (change) change(request);
  return compare_runs(runs, request);
}

}  // namespace

TEST_CASE("sizes on a law give multiplier, speedup and a projection", "[ladder]") {
  const auto comparison = answer({1}, {1.02});
  REQUIRE(comparison.ladder);
  const auto& ladder = *comparison.ladder;
  CHECK(comparison.facets.at(0).keys == std::map<std::string, std::string>{{"model.d_model", "48"}});
  CHECK(ladder.num_seeds == kSeeds);
  CHECK(ladder.sizes.at(3).is_held_out);
  CHECK(ladder.sizes.at(0).compute == Approx(3 * 48 * 48 * kTokens * 100'000));
  const auto& relu2 = ladder.variants.at(1);
  const double m = std::pow(1 / 1.02, 1 / .2);
  CHECK_FALSE(relu2.multiplier->interval.excludes(m));
  CHECK(relu2.multiplier->value == Approx(m).epsilon(.01));
  CHECK(relu2.speedup->value == Approx(relu2.multiplier->value * 10 / 8));
  CHECK(ladder.no_law.empty());
  CHECK(ladder.no_projection.empty());
  REQUIRE(relu2.projected);
  const double far = 30 * 3 * 128 * 128 * kTokens * 100'000;
  CHECK_FALSE(relu2.projected->interval.excludes(.9 + 1.02 * std::pow(far / 1e10, -.2)));
  CHECK_THAT(ladder_sentences(comparison), ContainsSubstring("relu2 worse than gelu holds (sure), difference shrinking (sure)"));
  CHECK_THAT(answer_text(comparison), ContainsSubstring("Pairs in the order of the largest size: 1 of 1 at 48"));
  CHECK_THAT(answer_text(comparison), ContainsSubstring("The law predicted the held-out size"));
  CHECK_THAT(answer_text(comparison), ContainsSubstring("This is at lr 0.03 to 0.018 by d_model; tuning may change it."));
  CHECK(ladder_json(comparison)["no_projection"].is_null());
  CHECK(relu2.holds == std::vector<double>{1, 1, 1});
  CHECK(ladder.variants.at(0).holds.empty());
  CHECK_THAT(answer_text(comparison),
             ContainsSubstring("Expected to hold at 3, 10 and 30 times the largest compute: relu2 in 100, 100 and 100 % "
                               "of refits"));
  CHECK(ladder_json(comparison)["variants"][1]["holds"][2] == Json{{"times", 30.0}, {"share", 1.0}});
  CHECK(ladder_json(comparison)["variants"][1]["slope"]["sure"] == true);
  auto seen = comparison;
  seen.history.qualification = "Seeds seen before: suggestive.";
  CHECK(ladder_json(seen)["variants"][1]["slope"]["sure"] == false);
}

TEST_CASE("a speedup goes by the tokens/s that are given", "[ladder]") {
  // As published (marin): a multiplier of 1.12995 at 410,000 tokens/s against 433,986.
  const Made gelu{1, .2, 1, .5, "text", 100'000, 0}, relu2{std::pow(1.12995, -.2), .2, 1, .5, "text", 100'000, 0};
  const auto with = [&](const Json& speeds) {
    return answer(gelu, relu2, [&](CompareRequest& request) {
      request.ladder->floor = .9;
      request.ladder->tokens_per_s = JsonValue(speeds);
    });
  };
  const auto comparison = with({{"gelu", 433'986}, {"relu2", 410'000}});
  CHECK(comparison.ladder->variants.at(1).speedup->value == Approx(1.06749).epsilon(.001));
  CHECK_THAT(ladder_tables(comparison).at(1).caption, ContainsSubstring("in time, by ladder.tokens_per_s"));
  CHECK_THROWS_WITH(with({{"gelu", 433'986}, {"relu", 1}}), ContainsSubstring("is not of the values that are compared"));
  CHECK_THROWS_WITH(with({{"gelu", 433'986}}), ContainsSubstring("is not of the values that are compared"));
}

TEST_CASE("a held-out size beside the law forbids the projection", "[ladder]") {
  const auto comparison = answer({1, .2, 1.05}, {1.02, .2, 1.05, .5, "text", 100'000, .01});
  CHECK(comparison.ladder->no_projection == "the sizes do not lie on a law");
  CHECK_FALSE(comparison.ladder->variants.at(1).projected);
  CHECK(comparison.ladder->variants.at(1).multiplier);
  CHECK(comparison.ladder->variants.at(1).holds.empty());
  CHECK_THAT(answer_text(comparison), ContainsSubstring("No projection: the sizes do not lie on a law."));
}

TEST_CASE("curves that cross reverse between two sizes and have no common multiplier", "[ladder]") {
  const auto comparison = answer({1, .2}, {1.25, .3});
  CHECK_THAT(ladder_sentences(comparison), ContainsSubstring("relu2 against gelu reverses between 64 and 96 (sure)"));
  CHECK(comparison.ladder->sizes.at(0).accuracy.num_agreeing == 0);
  CHECK(comparison.ladder->sizes.at(1).accuracy.num_agreeing == 0);
  CHECK(comparison.ladder->sizes.at(2).accuracy.num_agreeing == 1);
  CHECK_THAT(answer_text(comparison), ContainsSubstring("No multiplier or projection: losses fall at another rate with relu2."));
  CHECK_FALSE(comparison.ladder->law);
  CHECK_FALSE(comparison.ladder->variants.at(1).multiplier);
}

TEST_CASE("curves that cross beyond the largest size are expected to, without a multiplier", "[ladder]") {
  const auto comparison = answer({1, .2}, {1.03, .205});  // they meet at 12 times the largest compute
  const auto& holds = comparison.ladder->variants.at(1).holds;
  REQUIRE(holds.size() == 3);
  CHECK(holds[0] > .9);
  CHECK(holds[2] < .1);
  CHECK_THAT(ladder_sentences(comparison), ContainsSubstring("Expected to hold at 3, 10 and 30 times the largest compute: relu2 in 100, "));
  CHECK_THAT(ladder_sentences(comparison), ContainsSubstring(" No multiplier or projection: losses fall at another rate with relu2."));
}

TEST_CASE("what is no law is not fitted", "[ladder]") {
  const auto no_law = [](const Made& made, const std::function<void(CompareRequest&)>& change = nullptr) {
    return answer(made, made, change).ladder->no_law;
  };
  CHECK(no_law({1}).empty());
  CHECK(no_law({1, .2, 1, .9995}) == "at model.d_model 48 the task is at its ceiling");
  CHECK(answer({1}, {1, .2, 1, .9995}).ladder->no_law == "at model.d_model 48 the task is at its ceiling");  // any variant's
  CHECK(no_law({1, -.2}) == "losses do not fall from size to size");
  CHECK_THAT(no_law({1}, [](CompareRequest& request) { request.ladder->floor = 1.5; }), ContainsSubstring("is not below every loss"));
  CHECK_THAT(no_law({1},
                    [](CompareRequest& request) {
                      request.tuned = TuningResult();
                      request.tuned->variants = {{"activation=gelu+d_model=48", {}, false, {"train.optimizer.lr"}}};
                    }),
             ContainsSubstring("is at the end of its grid"));
}

TEST_CASE("variants that are compared whole are compared at each size", "[ladder]") {
  const auto comparison = answer({1}, {1.02}, [](CompareRequest& request) { request.config.by = "variant"; });
  REQUIRE(comparison.ladder);
  CHECK(comparison.ladder->variants.at(1).value == "activation=relu2");
}
