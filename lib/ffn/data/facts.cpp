#include "ffn/data/facts.hpp"

#include <algorithm>
#include <numeric>

#include "ffn/base/random.hpp"

namespace ffn {

namespace {

// Streams of a run's data seed: the values, then the order of each epoch.
constexpr std::uint64_t kValues = 0, kFirstOrder = 1;

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
  }
}

void FactsTask::write_batch(std::size_t run, std::int64_t step, std::int64_t batch_size, const BatchPlace& to) const {
  std::vector<std::int64_t> order(static_cast<std::size_t>(config_.facts));
  std::int64_t shuffled = -1;
  for (std::int64_t i = 0; i < batch_size; ++i) {
    const std::int64_t drawn = step * batch_size + i, epoch = drawn / config_.facts;
    if (epoch != shuffled) shuffle({seeds(run).train, kFirstOrder + static_cast<std::uint64_t>(epoch)}, order);
    shuffled = epoch;
    to.tokens[i] = order[static_cast<std::size_t>(drawn % config_.facts)];
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
