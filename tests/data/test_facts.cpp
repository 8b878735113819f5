// Facts: every key once an epoch, with one value per seed.
#include <algorithm>
#include <map>
#include <set>

#include "config/helpers.hpp"
#include "ffn/data/task.hpp"
#include "support/catch_plain.hpp"

using namespace ffn;

namespace {

constexpr std::int64_t kFacts = 100, kValues = 7;

std::unique_ptr<Task> facts(const std::vector<DataSeeds>& seeds) { return make_task(FactsConfig{kFacts, kValues, {}}, seeds); }

}  // namespace

TEST_CASE("every epoch has each fact once, in another order, however batches cut it") {
  const auto task = facts({{1, 2}});
  const ExampleSet all = task->validation(1000);
  REQUIRE(all.count == kFacts);
  for (const std::int64_t batch_size : {1, 30, 64, 100, 250}) {
    CAPTURE(batch_size);
    std::vector<std::int64_t> drawn;
    for (std::int64_t step = 0; static_cast<std::int64_t>(drawn.size()) < 5 * kFacts; ++step) {
      const ExampleSet batch = task->batch(0, step, batch_size);
      for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
        drawn.push_back(batch.tokens[i]);
        CHECK(batch.labels[i] == all.labels[static_cast<std::size_t>(batch.tokens[i])]);
      }
    }
    std::set<std::vector<std::int64_t>> orders;
    for (auto epoch = drawn.begin(); epoch != drawn.begin() + 5 * kFacts; epoch += kFacts) {
      std::vector<std::int64_t> order(epoch, epoch + kFacts);
      orders.insert(order);
      std::sort(order.begin(), order.end());
      for (std::int64_t i = 0; i < kFacts; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
    }
    CHECK(orders.size() == 5);
  }
}

TEST_CASE("drawn facts repeat, others are never trained, and an epoch has each draw once") {
  constexpr std::int64_t kDraws = 100;
  const auto task = make_task(FactsConfig{kFacts, kValues, kDraws}, {{1, 2}, {2, 3}});
  const ExampleSet all = task->validation(1000);
  CHECK(all.labels == facts({{1, 2}, {2, 3}})->validation(1000).labels);  // the same facts as without draws
  std::vector<std::multiset<std::int64_t>> epochs;
  for (std::int64_t step = 0; step < 3; ++step) {
    const ExampleSet batch = task->batch(0, step, kDraws);
    epochs.emplace_back(batch.tokens.begin(), batch.tokens.end());
    for (std::size_t i = 0; i < batch.tokens.size(); ++i) CHECK(batch.labels[i] == all.labels[static_cast<std::size_t>(batch.tokens[i])]);
  }
  CHECK((epochs[1] == epochs[0] && epochs[2] == epochs[0]));
  CHECK(task->batch(0, 0, kDraws).tokens != task->batch(0, 1, kDraws).tokens);
  CHECK(task->batch(1, 0, kDraws).tokens != task->batch(0, 0, kDraws).tokens);
  double seen = 0;
  constexpr int kSeeds = 400;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto tokens = make_task(FactsConfig{kFacts, kValues, kDraws}, {{seed, 0}})->batch(0, 0, kDraws).tokens;
    seen += static_cast<double>(std::set<std::int64_t>(tokens.begin(), tokens.end()).size()) / kFacts / kSeeds;
  }
  CHECK(std::abs(seen - 0.634) < 0.006);  // 1 - .99^100; 4 standard errors of 400 seeds
  CHECK(describe_data(FactsConfig{kFacts, kValues, kDraws}) ==
        "facts: of the facts 63.4 % are drawn in the mean; with chance on the others that is 68.6 % right");
}

TEST_CASE("a seed draws its values evenly, and another seed draws others") {
  std::vector<DataSeeds> seeds;
  for (std::uint64_t seed = 0; seed < 70; ++seed) seeds.push_back({seed, seed + 1000});
  const ExampleSet all = facts(seeds)->validation(1000);
  std::map<std::int64_t, std::int64_t> counts;
  std::set<std::vector<std::int64_t>> tables;
  for (auto run = all.labels.begin(); run != all.labels.end(); run += kFacts) tables.insert({run, run + kFacts});
  for (const auto label : all.labels) ++counts[label];
  CHECK(tables.size() == seeds.size());
  CHECK(counts.size() == kValues);
  for (const auto& [value, count] : counts) CHECK(std::abs(count - 1000) < 4 * 30);  // 4 standard errors of 7,000 draws
  CHECK(facts({{3, 9}})->validation(1000).labels ==
        std::vector<std::int64_t>(all.labels.begin() + 3 * kFacts, all.labels.begin() + 4 * kFacts));
}

TEST_CASE("all facts are validated unless fewer are asked for") {
  const auto config = test::run_from(R"({"task": {"kind": "facts", "facts": 2000}})");
  CHECK(make_task(config.task, {{1, 2}})->validation(config.train.most_eval_examples()).count == 2000);
  CHECK(facts({{1, 2}})->validation(30).count == 30);
}
