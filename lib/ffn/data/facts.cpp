#include "ffn/data/facts.hpp"

#include <algorithm>
#include <numeric>

#include "ffn/base/random.hpp"

namespace ffn {

namespace {

// Streams of a run's data seed: the values, the order of each epoch, and the facts that are drawn.
constexpr std::uint64_t kValues = 0, kFirstOrder = 1, kDrawnFacts = std::uint64_t{1} << 63;

void shuffle(RandomStream random, std::vector<std::int64_t>& order) {
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.below(static_cast<std::uint32_t>(i + 1))]);
}

}  // namespace

FactsTask::FactsTask(const FactsConfig& config, std::vector<DataSeeds> seeds) : Task(std::move(seeds)), config_(config) {
  for (std::int64_t run = 0; run < num_runs(); ++run) {
    auto& values = values_.emplace_back(static_cast<std::size_t>(config.facts));
    RandomStream random(this->seeds(static_cast<std::size_t>(run)).train, kValues);
    for (auto& value : values) value = random.below(static_cast<std::uint32_t>(config.values));
    auto& drawn = drawn_.emplace_back(static_cast<std::size_t>(config.draws.value_or(0)));
    RandomStream draws(this->seeds(static_cast<std::size_t>(run)).train, kDrawnFacts);
    for (auto& fact : drawn) fact = draws.below(static_cast<std::uint32_t>(config.facts));
  }
}

void FactsTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  const std::int64_t in_an_epoch = config_.draws.value_or(config_.facts);
  std::vector<std::int64_t> order(static_cast<std::size_t>(in_an_epoch));
  std::int64_t shuffled = -1;
  for (std::int64_t i = 0; i < batch_size; ++i) {
    const std::int64_t drawn = step * batch_size + i, epoch = drawn / in_an_epoch;
    if (epoch != shuffled) shuffle({seeds(run).train, kFirstOrder + static_cast<std::uint64_t>(epoch)}, order);
    shuffled = epoch;
    to.tokens[i] = order[static_cast<std::size_t>(drawn % in_an_epoch)];
    if (config_.draws) to.tokens[i] = drawn_[run][static_cast<std::size_t>(to.tokens[i])];
    to.labels[i] = values_[run][static_cast<std::size_t>(to.tokens[i])];
  }
}

ExampleSet FactsTask::validation(std::int64_t max_examples) const {
  const std::int64_t examples = std::min(max_examples, config_.facts);
  ExampleSet set = empty_set(examples);
  for (std::int64_t run = 0; run < num_runs(); ++run) {
    const BatchPlace to = place(set, run);
    std::iota(to.tokens, to.tokens + examples, 0);
    std::copy_n(values_[static_cast<std::size_t>(run)].begin(), examples, to.labels);
  }
  return set;
}

}  // namespace ffn
