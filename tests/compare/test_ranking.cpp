// Which variant stands first, in the order and in words, over runs that were never trained.
#include <algorithm>

#include "ffn/compare/compare.hpp"
#include "ffn/compare/ranking.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/answer_tables.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr std::int64_t kNever = -1, kBudget = 100;

/// One run a seed, by the step of its hit; those from `diverged_from` on diverged in the end.
void add_runs(std::vector<FoundRun>& runs, const std::string& activation, const std::vector<std::int64_t>& hits,
              std::size_t diverged_from = SIZE_MAX, const std::string& expansion = "2") {
  for (std::size_t seed = 0; seed < hits.size(); ++seed) {
    FoundRun run;
    const bool diverged = seed >= diverged_from;
    run.variant = activation + expansion;
    run.path = "study/" + run.variant + "/seed-" + std::to_string(seed);
    run.seed = static_cast<std::int64_t>(seed);
    run.keys = {{"model.ffn.activation", activation},
                {"model.ffn.expansion", expansion},
                {"task.kind", "xor"},
                {"train.target.metric", "val/accuracy"}};
    run.state = diverged ? RunState::diverged : RunState::done;
    run.summary = RunSummary();
    run.summary->end = diverged ? RunEnd::diverged : RunEnd::done;
    if (diverged) run.summary->divergence = Divergence{kBudget - 1, 1e9, 1, 1};
    if (hits[seed] != kNever) run.summary->hit = Hit{hits[seed], 1, 1};
    run.budget_steps = kBudget;
    runs.push_back(run);
  }
}

Comparison compare(const std::vector<FoundRun>& runs, double min_effect = 0) {
  CompareRequest request;
  request.config.by = "model.ffn.activation";
  request.config.metric = "steps_to_target";
  request.config.min_effect = min_effect;
  request.resamples = 10;
  return compare_runs(runs, request);
}

bool begins_with(const std::string& text, const std::string& begin) { return text.rfind(begin, 0) == 0; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<std::int64_t> kNone(8, kNever), kAtTheEnd(8, kBudget), kEarly = {10, 20, 10, 20, 10, 20, 10, 20};

}  // namespace

TEST_CASE("of two variants with one restricted mean the one that gets there goes first") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", kNone);
  add_runs(runs, "gelu", kAtTheEnd);
  const auto comparison = compare(runs);
  const auto& groups = comparison.facets.at(0).groups;
  REQUIRE(*groups.at(0).mean == *groups.at(1).mean);
  CHECK(ranks_before(comparison, *rank_of(groups[1]), *rank_of(groups[0])));
  CHECK_FALSE(ranks_before(comparison, *rank_of(groups[0]), *rank_of(groups[1])));
  CHECK(begins_with(answer_text(comparison), "gelu gets there first: median 100 steps; relu never."));
}

TEST_CASE("a lead that the digits of the table hide is shown with more of them") {
  std::vector<FoundRun> runs;
  const std::vector<std::int64_t> wide = {1, 99, 1, 99, 1, 99, 1, 99};
  auto later = wide;
  later[0] += 1;
  add_runs(runs, "relu", wide);
  add_runs(runs, "gelu", later);
  const auto comparison = compare(runs);
  CHECK(*comparison.facets.at(0).groups.at(0).mean == 50.0);
  CHECK(*comparison.facets.at(0).groups.at(1).mean == 50.125);
  INFO(answer_text(comparison));
  CHECK(begins_with(answer_text(comparison), "relu gets there first: 50.0 steps; gelu 50.1."));
}

TEST_CASE("more hits go before a smaller restricted mean, and the answer says how many") {
  std::vector<FoundRun> runs;
  const std::vector<std::int64_t> half = {1, kNever, 1, kNever, 1, kNever, 1, kNever};
  add_runs(runs, "relu", half);
  add_runs(runs, "gelu", std::vector<std::int64_t>(8, 80));
  const auto comparison = compare(runs);
  REQUIRE(*comparison.facets.at(0).groups.at(0).mean < 80);
  CHECK(begins_with(answer_text(comparison), "gelu gets there with the most seeds: 8 of 8 seeds, median 80"));
  CHECK(has(answer_text(comparison), "; relu 4 of 8 seeds, median 1."));
}

TEST_CASE("variants that miss the target equally often have their hits beside their medians") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", {20, 20, 20, 20, 20, 20, 20, kNever});
  add_runs(runs, "gelu", {kNever, 30, 30, 30, 30, 30, 30, 30});
  const std::string answer = answer_text(compare(runs));
  INFO(answer);
  CHECK(begins_with(answer, "relu gets there first: 7 of 8 seeds, median 20.0 steps; gelu 7 of 8 seeds, median 30.0."));
}

TEST_CASE("where runs miss the target the table counts hits and shows the median of those, without a spread of the censored mean") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", {20, 21, 20, 19, kNever, 22, 20, kNever});
  add_runs(runs, "gelu", std::vector<std::int64_t>(8, 30));
  const auto comparison = compare(runs);
  const auto table = short_table(comparison);
  REQUIRE(table.columns.at(1).header == "hits");
  CHECK(table.columns[1].text(table.rows.at(1)) == "6 of 8");  // in the order of the result
  CHECK(begins_with(table.columns[2].text(table.rows[1]), "20"));
  CHECK_FALSE(has(table.columns[2].text(table.rows[1]), "±"));
  CHECK(has(table.caption, "median of the runs that got there"));
  CHECK_FALSE(comparison.facets[0].groups.at(0).half_width);
  add_runs(runs = {}, "relu", kEarly);
  const auto all_hit = compare(runs);
  CHECK(short_table(all_hit).columns.at(1).header != "hits");
}

TEST_CASE("two variants that never get there are not called the same") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", kNone);
  add_runs(runs, "gelu", kNone);
  for (const double min_effect : {0.0, 10.0}) CHECK(answer_text(compare(runs, min_effect)) == "No run got to the target.");
  add_runs(runs, "silu", kEarly);
  const auto text = answer_text(compare(runs));
  CHECK(begins_with(text, "silu gets there first: "));
  CHECK(has(text, "With gelu no run got to the target, nor with relu."));
  CHECK_FALSE(has(text, "The same"));
}

TEST_CASE("a run that gets there and diverges later keeps its hit, and is counted beside it") {
  std::vector<FoundRun> kept, lost;
  add_runs(kept, "relu", kEarly);
  add_runs(kept, "gelu", kEarly, 5);
  const auto comparison = compare(kept);
  const auto& gelu = comparison.facets.at(0).groups.at(1);
  CHECK(gelu.num_hits == 8);
  CHECK(gelu.num_diverged == 3);
  CHECK(*gelu.mean == *comparison.facets[0].groups[0].mean);
  for (const auto& run : gelu.runs) CHECK_FALSE(run.lost_at);
  CHECK(std::count(comparison.notes.begin(), comparison.notes.end(),
                   "some runs reached the target and diverged later; their hits count (gelu: 3)") == 1);
  auto never = kEarly;
  for (std::size_t i = 5; i < 8; ++i) never[i] = kNever;
  add_runs(lost, "relu", kEarly);
  add_runs(lost, "gelu", never, 5);
  const auto without = compare(lost);
  CHECK(without.facets.at(0).groups.at(1).num_hits == 5);
  CHECK(without.facets[0].groups[1].runs.at(6).lost_at == kBudget - 1);
  for (const auto& note : without.notes) CHECK_FALSE(has(note, "diverged later"));
}
