#include "ffn/data/ceiling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ffn/config/named_tasks.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kMostBits = 8;

}  // namespace

bool is_linearly_separable(const ExampleSet& patterns, std::int64_t bits) {
  constexpr std::int64_t kLargestWeight = 42;
  const std::int64_t most = (bits + 1) * (bits + 1) * kLargestWeight * kLargestWeight;
  std::vector<std::int64_t> weights(static_cast<std::size_t>(bits + 1));  // the last one is the bias
  for (std::int64_t corrections = 0; corrections <= most;) {
    const auto before = corrections;
    for (std::int64_t i = 0; i < patterns.count; ++i) {
      const float* x = patterns.vectors.data() + i * bits;
      std::int64_t sum = weights.back();
      for (std::int64_t j = 0; j < bits; ++j) sum += weights[static_cast<std::size_t>(j)] * std::lround(x[j]);
      const std::int64_t sign = patterns.labels[static_cast<std::size_t>(i)] > 0 ? 1 : -1;
      if (sum * sign > 0) continue;
      for (std::int64_t j = 0; j < bits; ++j) weights[static_cast<std::size_t>(j)] += sign * std::lround(x[j]);
      weights.back() += sign;
      ++corrections;
    }
    if (corrections == before) return true;
  }
  return false;
}

std::string known_ceiling(const TaskConfig& task) {
  const auto* function = std::get_if<FunctionConfig>(&task);
  const auto* sequence = std::get_if<SequenceConfig>(&task);
  const std::string name = function ? function->name : sequence ? sequence->name : "";
  for (const auto& row : named_tasks()) {
    if (row.name == name) return name + ": " + row.known;
  }
  if (const auto* facts = std::get_if<FactsConfig>(&task); facts && facts->draws) {
    const auto n = static_cast<double>(facts->facts), v = static_cast<double>(facts->values);
    const double seen = -std::expm1(static_cast<double>(*facts->draws) * std::log1p(-1 / n));
    char text[160];
    std::snprintf(text, sizeof text, "facts: of the facts %.1f %% are drawn in the mean; with chance on the others that is %.1f %% right",
                  100 * seen, 100 * (seen + (1 - seen) / v));
    return text;
  }
  TaskConfig whole = task;
  if (auto* fresh = std::get_if<FunctionConfig>(&whole)) fresh->held_out = 0;
  const auto patterns = distinct_inputs(whole);
  if (!all_bits(whole) || !patterns || *patterns > std::int64_t{1} << kMostBits) return "";
  const auto made = make_task(whole, {{0, 1}});
  const TaskShape shape = made->shape();
  if (shape.target != Target::classes || shape.num_classes != 2) return "";
  const ExampleSet all = made->validation(*patterns);
  const auto ones = std::count(all.labels.begin(), all.labels.end(), 1);
  const double share = static_cast<double>(std::max<std::int64_t>(ones, all.count - ones)) / static_cast<double>(all.count);
  return std::to_string(all.count) + " inputs, majority class " + std::to_string(std::lround(100 * share)) + " %; " +
         (is_linearly_separable(all, shape.input_width) ? "" : "not ") + "linearly separable";
}

}  // namespace ffn
