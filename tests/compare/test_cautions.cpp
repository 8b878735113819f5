// Cautions beside a verdict in its sentence, over runs that were never trained.
#include <cmath>

#include "ffn/compare/cautions.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/export.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

using Losses = std::vector<stats::Outcome>;

/// One run a seed; no value: it diverged, or with a target never got there.
std::vector<FoundRun> runs_of(const std::string& activation, const Losses& values, bool times = false, const std::string& rate = "0.002") {
  std::vector<FoundRun> runs;
  for (std::size_t seed = 0; seed < values.size(); ++seed) {
    FoundRun run;
    run.variant = "activation=" + activation;
    run.path = "study/" + run.variant + "/seed-" + std::to_string(seed);
    run.seed = static_cast<std::int64_t>(seed);
    run.keys = {{"model.ffn.activation", activation}, {"task.kind", "xor"}, {"train.optimizer.lr", rate}};
    if (times) run.keys["train.target.metric"] = "val/loss";
    const bool done = times || values[seed];
    run.state = done ? RunState::done : RunState::diverged;
    RunSummary summary;
    summary.end = done ? RunEnd::done : RunEnd::diverged;
    if (times && values[seed]) summary.hit = Hit{static_cast<std::int64_t>(*values[seed]), 0.1};
    MetricSummary measured{};
    measured.name = "val/loss";
    measured.final_value = times ? 0.1 : values[seed].value_or(NAN);
    summary.metrics.push_back(measured);
    run.summary = summary;
    run.budget_steps = 1000;
    runs.push_back(run);
  }
  return runs;
}

std::vector<FoundRun> operator+(std::vector<FoundRun> a, const std::vector<FoundRun>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Comparison compare(const std::vector<FoundRun>& runs, const std::string& by = "model.ffn.activation") {
  CompareRequest request;
  request.config.by = by;
  request.in_given_order = true;
  request.resamples = 10;
  return compare_runs(runs, request);
}

/// `value` with slight differences between seeds; none with the last `failing` seeds.
Losses near(double value, std::size_t failing = 0, std::size_t n = 20) {
  Losses out;
  for (std::size_t i = 0; i < n; ++i)
    out.push_back(i + failing < n ? stats::Outcome(value * (1 + .001 * static_cast<double>((7 * i) % 5))) : std::nullopt);
  return out;
}

bool says(const Comparison& comparison, const std::string& words) { return answer_text(comparison).find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a sentence for a variant that fails with a tenth of its seeds or more says so") {
  const auto better = compare(runs_of("relu", near(1)) + runs_of("gelu", near(.8, 2)));
  INFO(answer_text(better));
  CHECK(says(better, "gelu is better than relu"));
  CHECK(says(better, ", but gelu has bad runs with 2 of 20 seeds (relu with 0)"));
  CHECK(says(better, "(2 runs diverged or failed)"));
  CHECK_FALSE(says(compare(runs_of("relu", near(1)) + runs_of("gelu", near(.8, 1))), "bad runs with"));
  const auto worse = compare(runs_of("relu", near(1, 3)) + runs_of("gelu", near(1.2, 1)));
  INFO(answer_text(worse));
  CHECK(says(worse, "gelu is worse than relu"));
  CHECK(says(worse, ", but relu has bad runs with 3 of 20 seeds (gelu with 1)"));
}

TEST_CASE("a loss far above the others counts as a failure") {
  auto losses = near(.8);
  for (const std::size_t seed : {3u, 11u}) losses[seed] = 60.0;
  const auto bad = compare(runs_of("relu", near(1)) + runs_of("gelu", losses));
  INFO(answer_text(bad));
  CHECK(says(bad, "gelu is better than relu"));
  CHECK(says(bad, ", but gelu has bad runs with 2 of 20 seeds (relu with 0)"));
  CHECK(says(bad, "(2 of 20 runs are bad)"));
  losses.resize(6);  // one of the two
  const auto one = compare(runs_of("relu", near(1, 0, 6)) + runs_of("gelu", losses));
  INFO(answer_text(one));
  CHECK(says(one, "(1 of 6 runs is bad)"));
}

TEST_CASE("a variant that gets there first and sometimes never is not recommended without saying it") {
  const auto times = compare(runs_of("relu", near(400), true) + runs_of("gelu", near(100, 2), true));
  INFO(answer_text(times));
  REQUIRE(times.metric == "steps_to_target");
  CHECK(says(times, ", but gelu does not get there with 2 of 20 seeds (relu with 0)"));
  CHECK(says(times, "gelu 18 of 20 seeds, median 100"));
  CHECK_FALSE(says(compare(runs_of("relu", near(400), true) + runs_of("gelu", near(100), true)), "get there with"));
}

TEST_CASE("fresh seeds are offered where the study's command asks this question and they leave the tuning seeds alone") {
  auto c = compare(runs_of("relu", near(1)) + runs_of("gelu", near(.8)));
  c.history.qualification = "Seeds seen before, in x: suggestive.";
  c.history.last_seed = 19;
  CHECK(says(c, "suggestive. A study of fresh seeds that asks this question first gives a sure answer."));
  c.history.is_repeatable = true;
  CHECK(says(c,
             "suggestive. Fresh seeds give a sure answer: the study's command with name=fresh "
             R"('seeds={"until":"settled","first":20}' in place of its own.)"));
  c.scope = "of this text";
  CHECK_THAT(export_latex(c), !ContainsSubstring("verdicts are sure"));
  c.history.last_seed = 999'900;
  CHECK(says(c, "suggestive. A study of fresh seeds that asks this question first gives a sure answer."));
}

TEST_CASE("a verdict on the mean of skewed differences says so, with a note") {
  auto skewed = near(.9);
  for (const std::size_t seed : {3u, 11u}) skewed[seed] = .5;  // ln 1/0.5 is six times ln 1/0.9
  const auto comparison = compare(runs_of("relu", near(1)) + runs_of("gelu", skewed));
  INFO(answer_text(comparison));
  const auto& pair = comparison.facets.at(0).pairs.at(0);
  REQUIRE(pair.paired.test == stats::PairedTest::sign_flip_of_mean);
  CHECK(rests_on_skewed_mean(pair));
  CHECK(says(comparison, ", on average: the differences are skewed"));
  const auto noted = [](const Comparison& c) {
    for (const auto& note : c.notes)
      if (note.find("the differences of gelu are skewed: ") == 0) return true;
    return false;
  };
  CHECK(noted(comparison));
  const auto plain = compare(runs_of("relu", near(1)) + runs_of("gelu", near(.9)));
  CHECK_FALSE(says(plain, "skewed"));
  CHECK_FALSE(noted(plain));
}

TEST_CASE("an untuned comparison of layers names its learning rate") {
  const auto untuned = runs_of("relu", near(1)) + runs_of("gelu", near(.9));
  CHECK(says(compare(untuned), "This is at lr 0.002; tuning may change it."));
  CHECK(compare(untuned).rate == "0.002");
  CHECK(compare(untuned, "variant").rate == "0.002");
  CHECK(compare(runs_of("relu", near(1)) + runs_of("gelu", near(.9), false, "0.01")).rate.empty());  // goes along, as a note says
  CHECK(compare(runs_of("relu", near(1)) + runs_of("relu", near(.9), false, "0.01"), "train.optimizer.lr").rate.empty());
  const auto with_optimizer = [](std::vector<FoundRun> runs, const std::string& kind) {
    for (auto& run : runs) run.keys["train.optimizer.kind"] = run.variant = kind;
    return runs;
  };
  const auto optimizers =
      with_optimizer(runs_of("relu", near(1)), "adamw") + with_optimizer(runs_of("relu", near(.9), false, "0.02"), "muon");
  CHECK(compare(optimizers, "train.optimizer.kind").rate == "adamw: 0.002, muon: 0.02");
}

TEST_CASE("a verdict on layers of unlike sizes says their sizes") {
  const auto of_size = [](std::vector<FoundRun> runs, std::int64_t parameters) {
    for (auto& run : runs) run.summary->cost.parameters = parameters;
    return runs;
  };
  const auto noted = [&](std::int64_t size) {
    const auto c = compare(of_size(runs_of("relu", near(1)), 100) + of_size(runs_of("gelu", near(.9)), size));
    return std::count(c.notes.begin(), c.notes.end(), "sizes differ: relu has 100 parameters, gelu has " + std::to_string(size));
  };
  CHECK(noted(150) == 1);
  CHECK(noted(104) == 0);
}

TEST_CASE("verdicts on tables say that seeds draw no other rows, those on other tasks do not") {
  auto runs = runs_of("relu", near(1)) + runs_of("gelu", near(2));
  const auto said = [&] {
    std::string out;
    for (const auto& note : compare(runs).notes) out += note + "|";
    return out;
  };
  CHECK_THAT(said(), !ContainsSubstring("rows"));
  for (auto& run : runs) run.keys.insert({{"task.file", "/data/iris.csv"}, {"task.split", "per_seed"}}), run.keys["task.kind"] = "table";
  CHECK_THAT(said(), ContainsSubstring("seeds draw other splits of the rows of iris.csv, which are no replicates"));
  for (auto& run : runs) run.keys["task.split"] = "fixed";
  CHECK_THAT(said(), ContainsSubstring("iris.csv: seeds share one split of them, and draw no other rows|"));
}

TEST_CASE("verdicts on one text and from one start say so, and verdicts on drawn data do not") {
  auto runs = runs_of("relu", near(1)) + runs_of("gelu", near(2));
  CHECK(compare(runs).scope.empty());
  for (auto& run : runs) run.keys["task.file"] = "a.txt", run.keys["task.kind"] = "text";
  CHECK(compare(runs).scope == "of this text");
  for (auto& run : runs) run.keys["model.init_from"] = "runs/a/seed-0.12345678";
  CHECK(compare(runs).scope == "of this text and from this start");
  CHECK_THAT(compare(runs).notes.back(), ContainsSubstring("all seeds of a variant start from the same weights"));
  for (auto& run : runs) run.keys["model.init_from"] = run.variant, run.keys["task.kind"] = "xor";
  CHECK(compare(runs).scope == "from these starts");
  for (auto& run : runs) run.keys["model.init_from"] = "runs/" + run.variant + "/seed-*";
  CHECK(compare(runs).scope.empty());  // each seed has its own
}
