#include "ffn/train/evaluator.hpp"

#include <cmath>

namespace ffn {

namespace {

// Σ (y − ȳ)²/count over each number of the targets, the mean over them.
double variance(const float* values, std::int64_t count, std::int64_t width) {
  double squares = 0;
  for (std::int64_t j = 0; j < width; ++j) {
    double mean = 0;
    for (std::int64_t i = 0; i < count; ++i) mean += static_cast<double>(values[i * width + j]) / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) squares += std::pow(static_cast<double>(values[i * width + j]) - mean, 2);
  }
  return squares / static_cast<double>(count * width);
}

}  // namespace

Evaluator::Evaluator(const Task& task, std::int64_t max_examples) {
  const auto shape = task.shape();
  if (shape.target == Target::classes) return;
  const ExampleSet validation = task.validation(max_examples);
  const std::int64_t positions = validation.count * shape.sequence_length, per_run = positions * shape.num_classes;
  for (std::int64_t first = 0; first < static_cast<std::int64_t>(validation.values.size()); first += per_run)
    target_variance_.push_back(variance(validation.values.data() + first, positions, shape.num_classes));
}

MeasuredMetrics Evaluator::metrics(std::size_t run, const LossSums& sums) const {
  const double mean = loss(sums);
  MeasuredMetrics out{{&metric::kValLoss, mean}};
  if (target_variance_.empty()) {
    out.emplace_back(&metric::kValAccuracy, static_cast<double>(sums.correct) / static_cast<double>(sums.scored));
  } else {
    out.emplace_back(&metric::kValRmse, std::sqrt(mean));
    const double of_targets = target_variance_[target_variance_.size() == 1 ? 0 : run];
    if (of_targets > 0) out.emplace_back(&metric::kValR2, 1 - mean / of_targets);  // undefined for constants
  }
  out.emplace_back(&metric::kValBitsPerChar, mean / std::log(2.0));
  out.emplace_back(&metric::kValPerplexity, std::exp(mean));
  return out;
}

}  // namespace ffn
