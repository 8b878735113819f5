#include "ffn/train/fused_step.hpp"

#include <algorithm>

#include "ffn/train/cohort_config.hpp"

namespace ffn {

FusedStep::FusedStep(const RunConfig& config, const Task& task)
    : task_(task),
      shape_(task.shape()),
      batch_size_(config.train.batch_size),
      balance_weight_(balance_weight(config.model.ffn)),
      network_(config.model, shape_),
      gradient_(static_cast<std::size_t>(layout().width())),
      labels_(static_cast<std::size_t>(batch_size_ * shape_.sequence_length)) {
  if (shape_.tokens) tokens_.resize(labels_.size());
  else vectors_.resize(static_cast<std::size_t>(batch_size_ * shape_.input_width));
}

fused::Network::Loss FusedStep::loss(std::int64_t r, std::int64_t step, const float* parameters, double dropout_rate,
                                     std::uint64_t dropout_seed) {
  task_.write_batch(static_cast<std::size_t>(r), step, batch_size_, {tokens_.data(), vectors_.data(), labels_.data()});
  fused::Examples examples{batch_size_, shape_.sequence_length, nullptr, nullptr, labels_.data()};
  if (shape_.tokens) examples.tokens = tokens_.data();
  else examples.vectors = vectors_.data();
  return network_.step(parameters, gradient_.data(), examples, {dropout_rate, dropout_seed, step}, balance_weight_);
}

Score FusedStep::evaluate(std::int64_t r, const float* parameters, const ExampleSet& set) {
  constexpr std::int64_t kTokensAtOnce = 4096;  // bounds memory
  const auto length = shape_.sequence_length, chunk = std::max<std::int64_t>(1, kTokensAtOnce / length);
  const auto first = set.shared ? 0 : r * set.count;
  CrossEntropySums sums;
  for (std::int64_t begin = 0; begin < set.count; begin += chunk) {
    const auto at = first + begin;
    fused::Examples examples{std::min(chunk, set.count - begin), length, nullptr, nullptr, set.labels.data() + at * length};
    if (shape_.tokens) examples.tokens = set.tokens.data() + at * length;
    else examples.vectors = set.vectors.data() + at * shape_.input_width;
    const auto part = network_.evaluate(parameters, examples);
    sums.loss += part.loss, sums.correct += part.correct, sums.scored += part.scored;
  }
  const auto scored = static_cast<double>(sums.scored);
  return {sums.loss / scored, static_cast<double>(sums.correct) / scored};
}

}  // namespace ffn
