// A run trained alone and the same run trained among seven others write the same bits; how runs end and what they log.
#include <cmath>

#include "cases.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/named_tasks.hpp"
#include "observer.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;
using test::base;
using test::cpu_cases;
using test::some_ffn;
using test::train;

namespace {

std::vector<std::string> names_of(const Evaluation& evaluation) {
  std::vector<std::string> names;
  for (const auto& [name, value] : evaluation.metrics) names.push_back(name);
  return names;
}

// Learns, and has a weight of run 1 that is not a number; no loss sees it.
class UnusedNotFinite final : public Learner {
 public:
  UnusedNotFinite(const std::vector<RunConfig>& runs, const Task& task) : learner_(runs, task) {}

  const RowLayout& layout() const override { return learner_.layout(); }
  std::vector<std::string> state_names() const override { return learner_.state_names(); }
  void read_state(std::size_t run, std::size_t row, float* values) const override {
    learner_.read_state(run, row, values);
    if (run == 1 && row == 0) values[layout().entries().back().offset] = NAN;
  }
  void write_state(std::size_t run, std::size_t row, const float* values) override { learner_.write_state(run, row, values); }
  void advance(std::int64_t begin, std::int64_t end, const LiveRuns& live, std::vector<RunSteps>& out) override {
    learner_.advance(begin, end, live, out);
  }
  bool evaluate(const LiveRuns& live, std::vector<LossSums>& out, const std::function<bool(double)>& go_on) override {
    return learner_.evaluate(live, out, go_on);
  }
  std::vector<float> outputs(const ExampleSet& examples) override { return learner_.outputs(examples); }

 private:
  CpuLearner learner_;
};

}  // namespace

TEST_CASE("a run alone equals the same run in a cohort of 8, bit for bit", "[train][cohort]") {
  int checked = 0;
  for (const auto& [name, config] : cpu_cases()) {
    INFO(name);
    std::vector<RunConfig> runs(8, config);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      runs[r].seed = static_cast<std::int64_t>(r);
      // A cohort may also mix rates of learning, decay and dropout.
      std::visit([&](auto& optimizer) { optimizer.lr *= r % 2 ? 1.0 : 0.5; }, runs[r].train.optimizer);
      if (auto* size = size_of(runs[r].model.ffn)) size->dropout = r % 3 ? 0.2 : 0.1;
    }
    const auto together = train(runs);
    for (const std::size_t r : {std::size_t{0}, std::size_t{3}, std::size_t{7}}) {
      const auto alone = train({runs[r]});
      CHECK((test::bits_of(alone, 0) == test::bits_of(together, r)));
    }
    CHECK((test::bits_of(together, 0) != test::bits_of(together, 1)));
    ++checked;
  }
  CHECK(checked > 100);
}

TEST_CASE("a run that blows up stops as diverged and leaves its neighbours alone", "[train]") {
  auto config = base(some_ffn<PositionwiseConfig>("relu2", 0.0), false);
  config.train.steps = 60;
  config.train.clip_norm = 0;
  SgdConfig sgd;
  sgd.lr = 0.01;
  config.train.optimizer = sgd;
  auto wild = config;
  std::get<SgdConfig>(wild.train.optimizer).lr = 1e6;
  const auto together = train({config, wild, config});
  REQUIRE(together.results.at(1).end == RunEnd::diverged);
  REQUIRE(together.results.at(1).divergence);
  CHECK(together.results.at(1).divergence->learning_rate == Approx(1e6));
  CHECK(together.results.at(1).steps < 60);
  CHECK(together.results.at(0).end == RunEnd::done);
  CHECK((test::bits_of(together, 0) == test::bits_of(train({config}), 0)));
}

TEST_CASE("a run that ends with a weight that is not finite has diverged, though no example uses the weight", "[train]") {
  const auto config = base(some_ffn<PositionwiseConfig>("relu"), true);
  test::Collected collected;
  const auto learner = [](const std::vector<RunConfig>& runs, const Task& task) { return std::make_unique<UnusedNotFinite>(runs, task); };
  Trainer({{config, config}, {}}, collected, learner, "cpu").train();
  for (const std::size_t run : {std::size_t{0}, std::size_t{1}}) {
    for (const auto& e : collected.evaluations.at(run)) {
      for (const auto& [name, value] : e.metrics) CHECK(std::isfinite(value));
    }
    CHECK(collected.results.at(run).steps == config.train.steps);
  }
  CHECK(collected.results.at(0).end == RunEnd::done);
  CHECK(collected.results.at(1).end == RunEnd::diverged);
  REQUIRE(collected.results.at(1).divergence);
  CHECK(collected.results.at(1).divergence->step == config.train.steps);
}

TEST_CASE("with log.layers each block's own values stand behind the means that they make", "[train]") {
  auto config = test::base(test::some_ffn<PositionwiseConfig>("relu"), /*attention=*/true);
  config.train.layer_metrics = true;
  const auto means = train({config});
  config.log.layers = true;
  const auto each = train({config});
  const auto& found = each.evaluations.at(0).back().metrics;
  const std::map<std::string, double> values(found.begin(), found.end());
  REQUIRE(config.model.blocks == 2);
  CHECK(found.size() == means.evaluations.at(0).back().metrics.size() + 2 * 4);
  for (const char* name : {"ffn/zero_fraction", "ffn/near_zero_fraction", "ffn/dead_units", "ffn/effective_rank"}) {
    INFO(name);
    const double first = values.at(std::string(name) + ".0"), second = values.at(std::string(name) + ".1");
    CHECK(values.at(name) == Approx((first + second) / 2));
  }
  CHECK(values.at("ffn/zero_fraction") > 0.2);
  CHECK(bits_of(means, 0) != bits_of(each, 0));
}

TEST_CASE("a run logs the metrics that the catalogue says it does, in that order", "[train]") {
  std::map<std::string, int> seen;
  auto cases = test::cpu_cases_with({"gelu"});
  auto grouped = test::base(test::some_ffn<MoeConfig>("gelu"), false);
  FunctionConfig clusters;
  clusters.name = "clusters";
  REQUIRE(resolve_task_name(clusters).empty());
  grouped.task = clusters;
  grouped.train.layer_metrics = true;
  cases.emplace_back("groups", grouped);
  for (const auto& [name, config] : cases) {
    INFO(name << ": Trainer::metrics_of and metric_catalogue() have the same metrics, in one order");
    std::vector<std::string> expected, at_start;
    for (const auto& row : metric_catalogue()) {
      if (!is_logged(row, config)) continue;
      expected.push_back(row.name);
      if (expected.back().rfind("train/", 0) != 0) at_start.push_back(row.name);
      ++seen[row.name];
    }
    const auto collected = train({config});
    CHECK(names_of(collected.evaluations.at(0).front()) == at_start);
    CHECK(names_of(collected.evaluations.at(0).back()) == expected);
  }
  for (const auto& row : metric_catalogue()) {  // every metric by some case, but for what LibTorch alone computes
    INFO(row.name);
    CHECK((seen.count(row.name) == 1 || row.logged_by == LoggedBy::memories || std::string(row.name) == "train/load_loss"));
  }
}
