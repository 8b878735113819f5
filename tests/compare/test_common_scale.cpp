// Variants that differ in what is measured are not judged, and labels hide no key, over runs that were never trained.
#include <algorithm>

#include "ffn/compare/compare.hpp"
#include "ffn/report/answer.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

using Keys = std::map<std::string, std::string>;

// Eight seeds that reach the target after `steps`, or one step later.
void add_runs(std::vector<FoundRun>& runs, const std::string& label, std::int64_t steps, const Keys& keys) {
  for (std::int64_t seed = 0; seed < 8; ++seed) {
    FoundRun run;
    run.variant = run.label = label;
    run.path = "study/" + label + "/seed-" + std::to_string(seed);
    run.seed = seed;
    run.keys = {
        {"task.kind", "xor"}, {"train.target.metric", "val/accuracy"}, {"train.target.at_least", "0.99"}, {"train.eval_every", "1"}};
    for (const auto& [key, value] : keys) run.keys[key] = value;
    run.state = RunState::done;
    run.summary = RunSummary();
    run.summary->hit = Hit{steps + seed % 2, 1, 1};
    run.summary->metrics.push_back({"val/loss", 0.01 * static_cast<double>(steps + seed % 2), std::nullopt});
    run.budget_steps = 100;
    runs.push_back(run);
  }
}

Comparison compared(const Keys& a, const Keys& b, const std::string& metric = "steps_to_target") {
  std::vector<FoundRun> runs;
  add_runs(runs, "A", 10, a);
  add_runs(runs, "B", 30, b);
  CompareRequest request;
  request.config.by = "variant";
  request.config.metric = metric;
  request.resamples = 10;
  return compare_runs(runs, request);
}

bool says(const Comparison& c, const std::string& text) {
  return std::any_of(c.notes.begin(), c.notes.end(), [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("times to different targets, on different grids and of different tasks are not judged, whatever the variants are called") {
  for (const auto& [key, a, b, said] : {std::array<const char*, 4>{"train.target.at_least", "0.9", "0.99", "times to different targets"},
                                        {"train.eval_every", "1", "20", "times that were measured differently"},
                                        {"train.eval_examples", "10", "1000", "times that were measured differently"},
                                        {"task.label_noise", "0", "0.2", "different tasks"}}) {
    const auto c = compared({{key, a}}, {{key, b}});
    INFO(key);
    CHECK(c.facets.at(0).pairs.empty());
    CHECK(says(c, std::string("these are ") + said + ": they stand side by side and are not judged; compare " +
                      (said == std::string("different tasks") ? "" : "another metric, or ") + "variants with the same " + key));
    CHECK(says(c, std::string("the variants differ in ") + key + " (A: " + a + "; B: " + b + ")"));
    CHECK(answer_text(c).empty());
  }
  CHECK(compared({{"train.eval_every", "1"}}, {{"train.eval_every", "20"}}, "val/loss").facets.at(0).pairs.size() == 1);
  CHECK(compared({{"train.loss", "huber"}}, {{"train.loss", "cross_entropy"}}, "best val/loss").facets.at(0).pairs.empty());
  CHECK(compared({{"train.target.stop", "true"}}, {{"train.target.stop", "false"}}).facets.at(0).pairs.size() == 1);
}

TEST_CASE("every key in which labelled variants differ is said with the labels, and keys that a kind brings along are not") {
  const auto c = compared({{"train.steps", "200"}, {"train.optimizer.lr", "0.01"}, {"model.ffn.kind", "moe"}, {"model.ffn.top_k", "2"}},
                          {{"train.steps", "400"}, {"train.optimizer.lr", "0.002"}, {"model.ffn.kind", "positionwise"}});
  CHECK(c.facets.at(0).pairs.size() == 1);
  CHECK(says(c,
             "the variants differ in model.ffn.kind (A: moe; B: positionwise), train.optimizer.lr (B: 0.002; A: 0.01), "
             "train.steps (A: 200; B: 400)"));
  CHECK_FALSE(says(c, "top_k"));
}
