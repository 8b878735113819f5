// A run that is interrupted and resumed ends in the same bits, wherever it stopped.
#include "cases.hpp"
#include "observer.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using test::Collected;

namespace {

std::vector<test::Case> few_cases() { return test::cpu_cases_with({"gelu"}); }

std::vector<RunConfig> two_seeds(const RunConfig& config) {
  std::vector<RunConfig> runs(2, config);
  for (std::size_t r = 0; r < runs.size(); ++r) runs[r].seed = static_cast<std::int64_t>(r);
  return runs;
}

double metric_at(const Collected& c, std::int64_t step, const char* metric) {
  for (const auto& e : c.evaluations.at(0)) {
    for (const auto& [name, value] : e.metrics) {
      if (e.step == step && name == metric) return value;
    }
  }
  throw std::out_of_range("no evaluation at the step");
}

// A target that run 0 reaches at its third evaluation and not before, if it moves on from the first two there.
std::optional<TargetConfig> target_of_third_evaluation(const Collected& whole, std::int64_t every) {
  const double first = metric_at(whole, 0, "val/loss"), second = metric_at(whole, every, "val/loss"),
               third = metric_at(whole, 2 * every, "val/loss");
  TargetConfig target;
  target.metric = "val/loss";
  if (third < std::min(first, second)) target.at_most = third;
  else if (third > std::max(first, second)) target.at_least = third;
  else return {};
  return target;
}

// The runs from the checkpoints at `step` to their end.
Collected resume(const std::vector<RunConfig>& runs, const Collected& before, std::int64_t step) {
  Cohort rest{runs, {}};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const auto& c : before.checkpoints.at(r)) {
      if (c.step == step) rest.resume.resize(r + 1, c);
    }
    REQUIRE(rest.resume.size() == r + 1);
  }
  Collected after;
  test::cpu_trainer(rest, after).train();
  return after;
}

}  // namespace

TEST_CASE("a run goes on from the checkpoint of any step to the same bits, hit and dropout included", "[train]") {
  int resumed = 0, hits = 0;
  for (const auto& [name, config] : few_cases()) {
    auto runs = two_seeds(config);
    if (const auto target = target_of_third_evaluation(test::train(runs), config.train.eval_every)) {
      for (auto& run : runs) run.train.target = target;
    }
    const auto whole = test::train(runs);
    for (auto& run : runs) run.train.checkpoint_every = 1;
    const auto watched = test::train(runs);
    hits += runs[0].train.target && whole.results.at(0).hit->step == 2 * config.train.eval_every;
    for (std::int64_t step = 1; step < config.train.steps; ++step) {
      INFO(name << ", from step " << step);
      const auto after = resume(runs, watched, step);
      for (std::size_t r = 0; r < runs.size(); ++r) {
        CHECK((test::bits_of(after, r) == test::bits_of(whole, r, step)));
        CHECK(after.evaluations.at(r).front().step > step);
      }
      ++resumed;
    }
    for (std::size_t r = 0; r < runs.size(); ++r) CHECK((test::bits_of(watched, r) == test::bits_of(whole, r)));
  }
  CHECK(resumed == static_cast<int>(few_cases().size()) * 22);
  CHECK(hits > resumed / 22 / 2);  // before the hit, at it and after it
}

TEST_CASE("a run that is stopped keeps what it has, and goes on to the same bits", "[train]") {
  struct Stop {
    std::int64_t checkpoint_every, step;
  };
  // The clock decides how many steps are taken at a time, but an evaluation and a checkpoint always end a stretch, and
  // the first step is one. Inside an evaluation interval (1, 4, 22), at its end (5, 20), at the step after it (6).
  for (const auto& stop : {Stop{1000, 1}, {1000, 5}, {1000, 20}, {4, 4}, {3, 6}, {5, 5}, {11, 22}}) {
    int checked = 0;
    for (const auto& [name, config] : few_cases()) {
      INFO(name << ", checkpoints every " << stop.checkpoint_every << ", stopped at " << stop.step);
      auto runs = two_seeds(config);
      const auto whole = test::train(runs);
      for (auto& run : runs) run.train.checkpoint_every = stop.checkpoint_every;
      Collected collected;
      collected.stop_at = stop.step;
      test::cpu_trainer({runs, {}}, collected).train();
      for (std::size_t r = 0; r < runs.size(); ++r) {
        REQUIRE(collected.results.at(r).end == RunEnd::interrupted);
        REQUIRE(collected.results.at(r).steps == stop.step);
        REQUIRE(collected.checkpoints.at(r).back().step == stop.step);
      }
      const auto after = resume(runs, collected, stop.step);
      for (std::size_t r = 0; r < runs.size(); ++r) {
        auto& all = collected.evaluations.at(r);
        all.insert(all.end(), after.evaluations.at(r).begin(), after.evaluations.at(r).end());
        collected.results[r] = after.results.at(r);
        CHECK((test::bits_of(collected, r) == test::bits_of(whole, r)));
      }
      ++checked;
    }
    CHECK(checked > 50);
  }
}

TEST_CASE("a run that stops in the middle of a long evaluation repeats it and ends in the same bits", "[train]") {
  auto config = test::base(test::some_ffn<PositionwiseConfig>("gelu", 0.0), true);
  config.train.steps = 8;
  config.train.eval_every = 4;
  config.train.checkpoint_every = 4;
  config.train.eval_examples = 40'000;
  const auto runs = two_seeds(config);
  const auto whole = test::train(runs);
  for (const std::int64_t step : {0, 4, 8}) {
    INFO("stopped in the evaluation at step " << step);
    Collected collected;
    collected.leave_evaluation_at = step;
    test::cpu_trainer({runs, {}}, collected).train();
    REQUIRE(collected.left);
    CHECK(collected.asked > 1);
    CHECK(static_cast<std::int64_t>(collected.evaluations[0].size()) == step / 4);
    CHECK((collected.results.at(0).end == RunEnd::interrupted && collected.results.at(0).steps == step));
    if (step == 0) {
      CHECK(collected.checkpoints.empty());
      continue;
    }
    const auto after = resume(runs, collected, step);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      auto& all = collected.evaluations.at(r);
      all.insert(all.end(), after.evaluations.at(r).begin(), after.evaluations.at(r).end());
      collected.results[r] = after.results.at(r);
      CHECK((test::bits_of(collected, r) == test::bits_of(whole, r)));
    }
  }
}
