// Which pairs make the family, and main effects and interactions, over runs that were never trained.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/error.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/export.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr const char* kLoss = "val/loss";

/// Losses of one variant by seed; a time where `steps` is set: 0 is never, within 100.
struct Runs {
  std::vector<FoundRun> all;

  void add(const std::string& activation, const std::string& expansion, const std::vector<double>& values, bool steps = false) {
    for (std::size_t seed = 0; seed < values.size(); ++seed) {
      FoundRun run;
      run.variant = "activation=" + activation + "+expansion=" + expansion;
      run.path = "study/" + run.variant + "/seed-" + std::to_string(seed);
      run.seed = static_cast<std::int64_t>(seed);
      run.keys = {{"model.ffn.activation", activation}, {"model.ffn.expansion", expansion}, {"task.kind", "xor"}};
      const double value = values[seed];
      run.state = std::isnan(value) ? RunState::diverged : RunState::done;
      RunSummary summary;
      summary.end = std::isnan(value) ? RunEnd::diverged : RunEnd::done;
      if (steps) {
        run.keys["train.target.metric"] = kLoss;
        if (value > 0) {
          summary.hit.emplace();
          summary.hit->step = static_cast<std::int64_t>(value);
        }
      } else {
        MetricSummary measured{};
        measured.name = kLoss;
        measured.final_value = value;
        summary.metrics.push_back(measured);
      }
      run.summary = summary;
      run.budget_steps = 100;
      all.push_back(run);
    }
  }
};

Comparison compare(const Runs& runs, const std::string& pairs, bool interaction = false, const std::string& metric = kLoss) {
  CompareRequest request;
  request.config.by = "model.ffn.activation";
  request.config.metric = metric;
  request.config.reference = "relu";
  request.config.scale = metric == kLoss ? "difference" : "auto";
  request.config.pairs = pairs;
  request.config.interaction = interaction;
  request.resamples = 10;
  return compare_runs(runs.all, request);
}

// At 12 seeds, silu before gelu before relu, further apart than their noise.
Runs three_in_order(const std::vector<std::string>& expansions) {
  Runs runs;
  for (const auto& expansion : expansions) {
    for (const auto& [activation, level] : {std::pair<const char*, double>{"relu", 3}, {"gelu", 2}, {"silu", 1}}) {
      std::vector<double> losses;
      for (int seed = 0; seed < 12; ++seed) losses.push_back(level + .01 * seed + .02 * ((seed * 7 + static_cast<int>(level)) % 5));
      runs.add(activation, expansion, losses);
    }
  }
  return runs;
}

const double kNan = std::nan("");

}  // namespace

TEST_CASE("each pair of every facet is judged where all are asked for, as one family") {
  const auto c = compare(three_in_order({"1", "2"}), "all");
  CHECK(c.num_comparisons == 6);
  for (const auto& facet : c.facets) {
    REQUIRE(facet.pairs.size() == 2);
    REQUIRE(facet.further_pairs.size() == 1);
    const auto& pair = facet.further_pairs[0];
    CHECK(pair.value == "silu");
    CHECK(pair.reference == "gelu");
    CHECK(pair.judgement.verdict == stats::Verdict::better);
    CHECK(pair.judgement.comparisons == 6);
    CHECK(pair.judgement.p_holm == Approx(6 * 2 / 4096.));  // all of one sign, and so are the five others
  }
  const auto pairs = answered_json(c)["facets"][0]["pairs"];
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[2]["reference"] == "gelu");
}

TEST_CASE("the best of a facet is compared with the runner-up, corrected as one of all pairs") {
  Runs runs = three_in_order({"1"});
  runs.add("tanh", "1", std::vector<double>(12, 9.));
  const auto all = compare(runs, "all"), best = compare(runs, "best");
  CHECK(all.num_comparisons == 6);
  CHECK(best.num_comparisons == 6);
  CHECK(all.facets[0].further_pairs.size() == 3);
  REQUIRE(best.facets[0].further_pairs.size() == 2);  // silu with gelu and tanh; with relu it stands among the others
  for (const auto& pair : best.facets[0].further_pairs) {
    CHECK((pair.value == "silu" || pair.reference == "silu"));
    CHECK(pair.judgement.p_holm == Approx(6 * 2 / 4096.));
  }
}

TEST_CASE("comparisons with the reference alone are a family of their own") {
  const auto c = compare(three_in_order({"1"}), "reference");
  CHECK(c.num_comparisons == 2);
  CHECK(c.facets[0].further_pairs.empty());
  CHECK(c.contrasts.empty());
}

TEST_CASE("main effects and interactions are those of an enumeration by hand") {
  // value − reference: at 1 0, −1, 1, −2, 2, −1, 1, 0; at 2 1, 3, 2, 4, 5, 2, 1, 3; at 4 one less than at 1, 8 times.
  const std::vector<double> reference = {5, 4, 6, 5, 7, 3, 4, 5}, at1 = {0, -1, 1, -2, 2, -1, 1, 0}, at2 = {1, 3, 2, 4, 5, 2, 1, 3};
  Runs runs;
  const auto add = [&](const char* expansion, const std::vector<double>& by, double more) {
    std::vector<double> values = reference;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += by[i] + more;
    runs.add("relu", expansion, reference);
    runs.add("gelu", expansion, values);
  };
  add("1", at1, 0);
  add("2", at2, 0);
  add("4", at1, -1);
  const auto c = compare(runs, "reference", true);
  CHECK(c.interaction_key == "model.ffn.expansion");
  CHECK(c.num_comparisons == 6);
  REQUIRE(c.contrasts.size() == 3);
  const auto& [main, two, four] = std::tie(c.contrasts[0], c.contrasts[1], c.contrasts[2]);
  CHECK(main.is_main_effect());
  // Python: d = [(a + b + a - 1) / 3 for a, b in zip(at1, at2)], all 256 sign patterns of it.
  CHECK(main.pair.paired.effect->value == Approx(0.5416666666666666));
  CHECK(main.pair.paired.p == Approx(0.1875));
  CHECK(two.at == "2");
  CHECK(two.against == "1");
  CHECK(two.pair.paired.effect->value == Approx(2.625));
  CHECK(two.pair.paired.p == Approx(0.015625));
  CHECK(two.pair.paired.effect->interval.low == Approx(1.0));
  CHECK(two.pair.paired.effect->interval.high == Approx(4.333333333333333));
  CHECK(four.pair.paired.effect->value == Approx(-1));
  CHECK(four.pair.paired.p == Approx(2 / 256.));
  CHECK(four.pair.judgement.p_holm == Approx(6 * 2 / 256.));
  CHECK(four.pair.judgement.verdict == stats::Verdict::better);
  const auto json = answered_json(c)["interaction"];
  CHECK(json["key"] == "model.ffn.expansion");
  CHECK(json["contrasts"][0]["contrast"] == "main_effect");
  CHECK(json["contrasts"][2]["at"] == "4");
  CHECK(json["contrasts"][2]["against"] == "1");
}

TEST_CASE("contrasts of times count a run that never gets there with its budget") {
  Runs runs;
  runs.add("relu", "1", {10, 10, 10, 10, 10, 10}, true);
  runs.add("gelu", "1", {10, 10, 10, 10, 10, 10}, true);
  runs.add("relu", "2", {10, 10, 10, 10, 10, 10}, true);
  runs.add("gelu", "2", {0, 40, 40, 40, 40, 40}, true);
  const auto c = compare(runs, "reference", true, "steps_to_target");
  REQUIRE(c.contrasts.size() == 2);
  CHECK(c.contrasts[1].pair.paired.effect->value == Approx((std::log(10.) + 5 * std::log(4.)) / 6));
  CHECK(c.contrasts[0].pair.paired.effect->value == Approx((std::log(10.) + 5 * std::log(4.)) / 12));
}

TEST_CASE("a ratio of times that grows while their difference shrinks is not called better") {
  Runs runs;
  runs.add("relu", "1", {60, 63, 57, 60, 62, 58, 61, 59}, true);
  runs.add("gelu", "1", {98, 99, 97, 98, 99, 97, 98, 97}, true);  // 1.6 times as long, 38 steps more
  runs.add("relu", "2", {10, 9, 9, 10, 9, 10, 10, 9}, true);
  runs.add("gelu", "2", {20, 19, 19, 20, 19, 20, 20, 19}, true);  // twice as long, 10 steps more
  const auto c = compare(runs, "reference", true, "steps_to_target");
  REQUIRE(c.contrasts.size() == 2);
  CHECK(c.contrasts[1].pair.paired.values == stats::PairedValues::log_ratio);
  CHECK(c.contrasts[1].pair.paired.effect->value == Approx(std::log(2.05 / 1.63)).margin(.02));
  CHECK(c.contrasts[1].pair.judgement.verdict == stats::Verdict::worse);
}

TEST_CASE("a contrast with a missing value is not tested, and counts in the family") {
  Runs runs;
  runs.add("relu", "1", {5, 4, 6, 5, 7, 3});
  runs.add("gelu", "1", {4, 3, 5, 4, 6, 2});
  runs.add("relu", "2", {5, 4, 6, 5, 7, 3});
  runs.add("gelu", "2", {4, 3, kNan, 4, 6, 2});
  runs.add("relu", "4", {5, 4, 6, 5, 7, 3});
  runs.add("gelu", "4", {4, 3, 5, 4, 6, 1});
  const auto c = compare(runs, "reference", true);
  CHECK(c.num_comparisons == 6);
  REQUIRE(c.contrasts.size() == 1);
  CHECK(c.contrasts[0].at == "4");
  const std::string note = "main effects and interactions need a value of every run; not tested: gelu, main effect; gelu at 2";
  CHECK(std::count(c.notes.begin(), c.notes.end(), note) == 1);
}

TEST_CASE("an interaction needs exactly one further key") {
  CHECK_THROWS_WITH(compare(three_in_order({"1"}), "reference", true), ContainsSubstring("a second key that varies, and there is none"));
  Runs runs = three_in_order({"1", "2"});
  const auto half = runs.all;
  for (auto& run : runs.all) run.keys["model.d_model"] = "4";
  for (auto run : half) {
    run.keys["model.d_model"] = "8";
    run.path = "wide/" + run.path.string();
    runs.all.push_back(run);
  }
  CHECK_THROWS_WITH(compare(runs, "reference", true), ContainsSubstring("model.d_model and model.ffn.expansion"));
}

TEST_CASE("a sequential design compares the seeds of its last interim analysis, and the others wait") {
  std::vector<double> relu, gelu;
  for (int seed = 0; seed < 15; ++seed) {
    relu.push_back(1 + 0.01 * seed);
    gelu.push_back(relu.back() - (seed < 12 ? 0.1 + 0.001 * seed : 9));
  }
  const auto compared = [&](std::size_t seeds) {
    Runs runs;
    runs.add("relu", "4", {relu.begin(), relu.begin() + static_cast<std::ptrdiff_t>(seeds)});
    runs.add("gelu", "4", gelu);
    CompareRequest request;
    request.config.by = "model.ffn.activation";
    request.config.metric = kLoss;
    request.config.scale = "difference";
    request.config.reference = "relu";
    request.sequential = SequentialRequest{{16}, 1};
    request.resamples = 10;
    return compare_runs(runs.all, request);
  };
  const auto c = compared(14);
  const auto& pair = c.facets[0].pairs[0];
  CHECK(pair.sequential->num_analysed == 12);
  CHECK(pair.paired.num_seeds == 12);
  CHECK(pair.advantages.size() == 12);
  CHECK(pair.paired.difference->mean == Approx(-0.1055));  // 0.1 and the mean of 0.000 … 0.011, without the 9 of later seeds
  CHECK(pair.paired.effect->interval.low > -0.2);
  CHECK(pair.waiting_seeds == 2);
  CHECK(compared(9).facets[0].pairs[0].paired.num_seeds == 8);
  CHECK(compared(7).facets[0].pairs[0].paired.num_seeds == 7);  // before the first analysis, all
}
