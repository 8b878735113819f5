// Verdicts on exact numbers, and losses of runs that were trained for too long, over runs that were never trained.
#include <algorithm>

#include "ffn/compare/compare.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

// Eight seeds of an activation: `metric` at the end, its best value at step 25, and what else they log.
void add_runs(std::vector<FoundRun>& runs, const std::string& activation, const std::string& metric, double value, double best,
              const std::vector<MetricSummary>& more = {}, std::map<std::string, std::string> keys = {{"task.kind", "xor"}}) {
  keys["model.ffn.activation"] = activation;
  for (std::int64_t seed = 0; seed < 8; ++seed) {
    FoundRun run;
    run.variant = activation;
    run.path = "study/" + activation + "/seed-" + std::to_string(seed);
    run.seed = seed;
    run.keys = keys;
    run.state = RunState::done;
    run.summary = RunSummary();
    run.summary->steps = run.budget_steps = 300;
    const double noise = 1e-6 * static_cast<double>(seed % 3);
    run.summary->metrics.push_back({metric, value - noise, MetricSummary::Best{best - noise, 25}});
    for (const auto& logged : more) run.summary->metrics.push_back(logged);
    runs.push_back(run);
  }
}

Comparison compared(const std::vector<FoundRun>& runs, const std::string& metric) {
  CompareRequest request;
  request.config.metric = metric;
  request.resamples = 10;
  return compare_runs(runs, request);
}

bool says(const Comparison& c, const std::string& text) {
  return std::any_of(c.notes.begin(), c.notes.end(), [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

stats::Verdict verdict_on(double value, double most, double reference, double most_of_reference, const std::string& said = "") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", "val/bits_per_param", reference, reference, {{"val/most_bits_per_param", most_of_reference, std::nullopt}});
  add_runs(runs, "gelu", "val/bits_per_param", value, value, {{"val/most_bits_per_param", most, std::nullopt}});
  const auto c = compared(runs, "val/bits_per_param");
  CHECK((said.empty() || says(c, said)));
  CHECK(c.facets.at(0).pairs.at(0).judgement.chances.empty());
  return c.facets[0].pairs[0].judgement.verdict;
}

}  // namespace

TEST_CASE("bits per parameter of layers that know everything, or that differ less than their sizes, are not judged") {
  using stats::Verdict;
  CHECK(verdict_on(0.995, 1.0, 0.990, 0.995, "both know all facts") == Verdict::undecided);
  CHECK(verdict_on(1.99, 2.0, 0.995, 1.0, "both know all facts") == Verdict::undecided);
  CHECK(verdict_on(0.504, 1.01, 0.500, 1.0, "differences below those of the sizes are not judged: gelu and relu") == Verdict::undecided);
  CHECK(verdict_on(0.510, 1.01, 0.500, 1.0) == Verdict::better);
  CHECK(verdict_on(0.504, 1.0, 0.500, 1.0) == Verdict::better);
  CHECK(verdict_on(0.504, 2.0, 0.500, 1.0) == Verdict::better);  // sizes that were never meant to match
  CHECK(verdict_on(0.995, 1.0, 0.600, 1.0) == Verdict::better);
}

TEST_CASE("a layer whose runs were all lost is judged beside one that knows facts") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", "val/bits_per_param", 0.90, 0.992, {{"val/most_bits_per_param", 1.0, std::nullopt}});
  add_runs(runs, "gelu", "val/bits_per_param", 0.91, 0.997, {{"val/most_bits_per_param", 1.0, std::nullopt}});
  CHECK(says(compared(runs, "best val/bits_per_param"), "both know all facts"));
  for (auto& run : runs) {
    if (run.variant == "gelu") run.state = RunState::diverged, run.summary->end = RunEnd::diverged;
  }
  CHECK(compared(runs, "val/bits_per_param").facets.at(0).pairs.at(0).judgement.verdict == stats::Verdict::worse);
}

TEST_CASE("a loss that rose after its minimum is said, with the minima and early stopping as ways to ask") {
  std::vector<FoundRun> runs;
  add_runs(runs, "relu", "val/loss", 0.8, 0.4);
  add_runs(runs, "gelu", "val/loss", 0.5, 0.49);
  const auto at_end = compared(runs, "val/loss"), best = compared(runs, "best val/loss");
  CHECK(says(at_end, "val/loss rose after its minimum (relu by 100 % since step 25): runs were trained for too long"));
  CHECK(says(at_end, "tune.train.steps=25,300"));
  CHECK(at_end.facets.at(0).pairs.at(0).judgement.verdict == stats::Verdict::better);
  CHECK(best.facets.at(0).pairs.at(0).judgement.verdict == stats::Verdict::worse);
  CHECK(*best.facets[0].groups.at(0).mean == Approx(0.4).margin(1e-5));
  CHECK_FALSE(says(best, "rose after"));
}

TEST_CASE("tables with classes are compared by accuracy unless asked otherwise, other tasks by their loss") {
  for (const auto& [label, metric] : {std::pair<const char*, const char*>{"species", "val/accuracy"}, {"", "val/loss"}}) {
    std::vector<FoundRun> runs;
    for (const char* activation : {"relu", "gelu"})
      add_runs(runs, activation, "val/loss", 0.5, 0.5, {{"val/accuracy", 0.9, std::nullopt}},
               {{"task.kind", "table"}, {"task.label", label}});
    CHECK(compared(runs, "").metric == metric);
  }
}

TEST_CASE("variants of a text that need more bits than gzip are named, whichever form the loss has") {
  const auto noted = [](const std::string& metric, double of_gelu) {
    std::vector<FoundRun> runs;
    const std::map<std::string, std::string> text{{"task.kind", "text"}, {"task.file", "a.txt"}};
    for (const auto& [name, bits] : {std::pair{"relu", 2.5}, std::pair{"gelu", of_gelu}}) {
      std::vector<MetricSummary> logged{{"val/gzip_bits_per_byte", 2.912, std::nullopt}};
      if (metric != "val/bits_per_byte") logged.push_back({"val/bits_per_byte", bits, std::nullopt});
      add_runs(runs, name, metric, metric == "val/bits_per_byte" ? bits : 0.69 * bits, bits, logged, text);
    }
    return compared(runs, metric);
  };
  for (const auto* metric : {"val/loss", "val/bits_per_byte", "val/bits_per_char"}) {
    CAPTURE(metric);
    CHECK(says(noted(metric, 3.112),
               "gzip needs 2.91 bits per byte for the held-out text (val/gzip_bits_per_byte); these need more: gelu by 0.2"));
    const auto fine = noted(metric, 2.7);
    CHECK(says(fine, "gzip needs 2.91"));
    CHECK_FALSE(says(fine, "need more"));
  }
  CHECK_FALSE(says(noted("val/accuracy", 3.112), "gzip"));
}
