// On which scale a comparison is made, over runs that were never trained.
#include <algorithm>
#include <cmath>

#include "ffn/base/error.hpp"
#include "ffn/compare/compare.hpp"
#include "ffn/report/export.hpp"
#include "ffn/stats/random.hpp"
#include "stats/simulate.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using stats::SplitMix64;

namespace {

using Losses = std::vector<stats::Outcome>;

/// One run a seed; no value: it diverged.
void add_runs(std::vector<FoundRun>& runs, const std::string& activation, const std::string& expansion, const Losses& losses,
              const std::string& metric = "val/loss") {
  for (std::size_t seed = 0; seed < losses.size(); ++seed) {
    FoundRun run;
    run.variant = "activation=" + activation + "+expansion=" + expansion;
    run.path = "study/" + run.variant + "/seed-" + std::to_string(seed);
    run.seed = static_cast<std::int64_t>(seed);
    run.keys = {{"model.ffn.activation", activation}, {"model.ffn.expansion", expansion}, {"task.kind", "xor"}};
    run.state = losses[seed] ? RunState::done : RunState::diverged;
    RunSummary summary;
    summary.end = losses[seed] ? RunEnd::done : RunEnd::diverged;
    MetricSummary measured{};
    measured.name = metric;
    measured.final_value = losses[seed].value_or(NAN);
    summary.metrics.push_back(measured);
    run.summary = summary;
    run.budget_steps = 100;
    runs.push_back(run);
  }
}

Losses around(double middle, std::size_t n, SplitMix64& random) {
  Losses out;
  while (out.size() < n) out.push_back(middle * std::exp(.1 * stats::simulate::normal(random)));
  return out;
}

Comparison compare(const std::vector<FoundRun>& runs, const std::string& scale = "auto", double min_effect = 0,
                   const std::string& metric = "val/loss") {
  CompareRequest request;
  request.config.by = "model.ffn.activation";
  request.config.metric = metric;
  request.config.reference = "relu";
  request.config.scale = scale;
  request.config.min_effect = min_effect;
  request.resamples = 10;
  return compare_runs(runs, request);
}

bool has_note(const Comparison& comparison, const std::string& note) {
  return std::find(comparison.notes.begin(), comparison.notes.end(), note) != comparison.notes.end();
}

const PairResult& only_pair(const Comparison& comparison) {
  REQUIRE(comparison.facets.size() == 1);
  REQUIRE(comparison.facets[0].pairs.size() == 1);
  return comparison.facets[0].pairs[0];
}

}  // namespace

TEST_CASE("one loss that is 0 turns all pairs of a comparison to differences") {
  SplitMix64 random(1);
  std::vector<FoundRun> runs;
  for (const char* expansion : {"1", "2"})
    for (const char* activation : {"relu", "gelu"}) add_runs(runs, activation, expansion, around(1, 8, random));
  const auto ratios = compare(runs);
  CHECK(ratios.as_ratios);
  CHECK(ratios.shown == ShownCentre::geometric_mean);
  CHECK(has_note(ratios, "compared as ratios, because val/loss is positive in all runs"));
  runs[0].summary->metrics[0].final_value = 0;
  const auto differences = compare(runs);
  CHECK_FALSE(differences.as_ratios);
  REQUIRE(differences.facets.size() == 2);
  for (const auto& facet : differences.facets) CHECK(facet.pairs.at(0).paired.values == stats::PairedValues::difference);
  CHECK(has_note(differences, "compared as differences, because val/loss is not positive in all runs"));
}

TEST_CASE("the note on the scale says nothing of runs without a value") {
  SplitMix64 random(1);
  std::vector<FoundRun> some, none;
  auto with_gap = around(1, 8, random);
  with_gap[3].reset();
  add_runs(some, "relu", "2", around(1, 8, random));
  add_runs(some, "gelu", "2", with_gap);
  CHECK(has_note(compare(some), "compared as ratios, because val/loss is positive in all runs that have a value"));
  for (const char* activation : {"relu", "gelu"}) add_runs(none, activation, "2", std::vector<std::optional<double>>(8));
  CHECK(has_note(compare(none), "no run has a value of val/loss"));
  CHECK_FALSE(has_note(compare(none), "compared as ratios, because val/loss is positive in all runs"));
}

TEST_CASE("a pair goes to ranks by itself, and the note says which and why") {
  SplitMix64 random(2);
  std::vector<FoundRun> runs;
  auto with_gap = around(.8, 8, random), with_outlier = around(.8, 8, random);
  with_gap[3].reset();
  *with_outlier[5] *= 1e4;
  add_runs(runs, "relu", "2", around(1, 8, random));
  add_runs(runs, "gelu", "2", with_gap);
  add_runs(runs, "silu", "2", with_outlier);
  add_runs(runs, "tanh", "2", around(.8, 8, random));
  const auto comparison = compare(runs);
  const auto& pairs = comparison.facets.at(0).pairs;
  REQUIRE(pairs.size() == 3);
  std::size_t by_ranks = 0;
  for (const auto& pair : pairs) {
    by_ranks += pair.paired.test == stats::PairedTest::signed_rank;
    CHECK((pair.paired.test == stats::PairedTest::signed_rank) == (pair.value != "tanh"));
    REQUIRE(pair.bad);
    CHECK(pair.bad->variant == (pair.value != "tanh"));
    CHECK(pair.bad->reference == 0);
    CHECK(pair.paired.effect->interval.excludes(0) == (pair.paired.p < .05));
  }
  CHECK(by_ranks == 2);
  CHECK(comparison.shown == ShownCentre::median);
  std::string notes;
  for (const auto& note : comparison.notes) notes += note + "\n";
  CHECK(notes.find("by ranks: gelu, because 1 of 16 runs has no value; silu, because the largest difference is ") != std::string::npos);
  CHECK(notes.find("bad runs (val/loss above 10 times the median of both sides, or no value): gelu 1 and relu 0 of 8 seeds; silu 1 and "
                   "relu 0 of 8 seeds") != std::string::npos);
  const auto& gelu = comparison.facets.at(0).groups.at(1);
  CHECK(gelu.num_diverged == 1);
  REQUIRE(gelu.median);
  auto finite = gelu.values;
  std::sort(finite.begin(), finite.end());
  CHECK(*gelu.median == Approx((finite[3] + finite[4]) / 2));  // of eight, the one without a value being the largest
}

TEST_CASE("the scale that is asked for is taken, where the values have it") {
  SplitMix64 random(3);
  std::vector<FoundRun> runs;
  auto outlier = around(.9, 8, random);
  *outlier[2] *= 1e4;
  add_runs(runs, "relu", "2", around(1, 8, random));
  add_runs(runs, "gelu", "2", outlier);
  CHECK(only_pair(compare(runs)).paired.test == stats::PairedTest::signed_rank);
  for (const char* scale : {"difference", "ratio"}) {
    const auto comparison = compare(runs, scale);
    CHECK(comparison.as_ratios == (std::string(scale) == "ratio"));
    CHECK(only_pair(comparison).paired.test == stats::PairedTest::sign_flip_of_mean);
  }
  const auto ranks = compare(runs, "ranks");
  CHECK(ranks.as_ratios);
  CHECK(has_note(ranks, "compared by ranks of ratios (scale ranks)"));
  runs[1].summary->metrics[0].final_value = 0;
  CHECK_THROWS_WITH(compare(runs, "ratio"), "compare.scale is ratio, but val/loss is not positive in 1 of 16 runs");

  std::vector<FoundRun> accurate;
  add_runs(accurate, "relu", "2", around(.5, 8, random), "val/accuracy");
  add_runs(accurate, "gelu", "2", around(.6, 8, random), "val/accuracy");
  CHECK_FALSE(compare(accurate, "auto", 0, "val/accuracy").as_ratios);
  CHECK_FALSE(only_pair(compare(accurate, "auto", 0, "val/accuracy")).bad);
  CHECK_THROWS_WITH(compare(accurate, "ratio", 0, "val/accuracy"), "compare.scale is ratio, but val/accuracy need not be positive");
}

TEST_CASE("min_effect is relative where ratios are compared") {
  SplitMix64 random(4);
  std::vector<FoundRun> runs;
  const auto reference = around(100, 12, random);  // far above 1: as a difference of 0.05 nothing would be equal
  auto variant = reference;
  for (auto& loss : variant) *loss *= std::exp(.01 * stats::simulate::normal(random));
  add_runs(runs, "relu", "2", reference);
  add_runs(runs, "gelu", "2", variant);
  CHECK(only_pair(compare(runs, "auto", .05)).judgement.verdict == stats::Verdict::no_meaningful_difference);
  CHECK(only_pair(compare(runs, "difference", .05)).judgement.verdict != stats::Verdict::no_meaningful_difference);
}

TEST_CASE("JSON has ratios beside their logarithms") {
  SplitMix64 random(5);
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", "2", around(1, 8, random));
  add_runs(runs, "gelu", "2", around(.1, 8, random));
  const auto comparison = compare(runs);
  const auto json = answered_json(comparison);
  CHECK(json["scale"] == "log_ratio");
  CHECK(json["shown"] == "geometric_mean");
  const auto& pair = json["facets"][0]["pairs"][0];
  CHECK(pair["effect"]["kind"] == "mean_log_ratio");
  CHECK(pair["ratio"]["value"].get<double>() == Approx(std::exp(pair["effect"]["value"].get<double>())));
  CHECK(pair["ratio"]["interval"]["high"].get<double>() == Approx(std::exp(pair["effect"]["interval"]["high"].get<double>())));
  CHECK(pair["difference"]["interval"].is_null());
  CHECK(pair["difference"]["mean"].get<double>() < 0);
  CHECK(pair["bad_runs"]["p_mcnemar"] == 1);
  CHECK(pair["sentence"].get<std::string>().find("better: ÷") == 0);  // factors, a tenth being far from 1
  const auto& groups = json["facets"][0]["groups"];
  CHECK(groups[1]["shown"]["value"].get<double>() / groups[0]["shown"]["value"].get<double>() ==
        Approx(pair["ratio"]["value"].get<double>()));
}
