#include "ffn/train/fused_step.hpp"

#include "ffn/train/cohort_config.hpp"

namespace ffn {

namespace {

fused::Layout layout_of(const nn::ParameterRow& row) {
  std::map<std::string, std::int64_t> offsets;
  for (const auto& entry : row.entries()) offsets[entry.name] = entry.offset;
  return fused::Layout(std::move(offsets));
}

}  // namespace

FusedStep::FusedStep(const RunConfig& config, const Task& task, const nn::ParameterRow& row)
    : task_(task),
      row_(row),
      batch_size_(config.train.batch_size),
      sequence_length_(task.shape().sequence_length),
      balance_weight_(balance_weight(config.model.ffn)),
      network_(layout_of(row), config.model, task.shape()),
      gradient_(static_cast<std::size_t>(row.values().size(1))) {
  const auto tokens = static_cast<std::size_t>(batch_size_ * sequence_length_);
  labels_.resize(tokens);
  if (task.shape().tokens) tokens_.resize(tokens);
  else vectors_.resize(static_cast<std::size_t>(batch_size_ * task.shape().input_width));
}

fused::Network::Loss FusedStep::loss(std::int64_t r, std::int64_t step, double dropout_rate, std::uint64_t dropout_seed) {
  task_.write_batch(static_cast<std::size_t>(r), step, batch_size_, {tokens_.data(), vectors_.data(), labels_.data()});
  fused::Examples examples{batch_size_, sequence_length_, nullptr, nullptr, labels_.data()};
  if (tokens_.empty()) examples.vectors = vectors_.data();
  else examples.tokens = tokens_.data();
  const auto width = row_.values().size(1);
  return network_.step(row_.values().data_ptr<float>() + r * width, gradient_.data(), width, examples, {dropout_rate, dropout_seed, step},
                       balance_weight_);
}

Validation FusedStep::validate(const Batch& set) {
  const auto runs = set.inputs.size(0), count = set.inputs.size(1), length = set.labels.size(1) / count;
  const auto chunk = evaluation_chunk(length);
  const auto width = row_.values().size(1);
  Validation result;
  // A run's part is contiguous; a set that all runs share has stride 0.
  const auto input_stride = set.inputs.stride(0), label_stride = set.labels.stride(0), input_width = set.inputs.size(2);
  const auto* labels = set.labels.data_ptr<std::int64_t>();
  const auto* tokens = tokens_.empty() ? nullptr : set.inputs.data_ptr<std::int64_t>();
  const auto* vectors = tokens_.empty() ? set.inputs.data_ptr<float>() : nullptr;
  for (std::int64_t r = 0; r < runs; ++r) {
    CrossEntropySums sums;
    for (std::int64_t begin = 0; begin < count; begin += chunk) {
      fused::Examples examples{std::min(chunk, count - begin), length, nullptr, nullptr, labels + r * label_stride + begin * length};
      if (tokens) examples.tokens = tokens + r * input_stride + begin * input_width;
      else examples.vectors = vectors + r * input_stride + begin * input_width;
      const auto part = network_.evaluate(row_.values().data_ptr<float>() + r * width, examples);
      sums.loss += part.loss, sums.correct += part.correct, sums.scored += part.scored;
    }
    result.loss.push_back(sums.loss / static_cast<double>(sums.scored));
    result.accuracy.push_back(static_cast<double>(sums.correct) / static_cast<double>(sums.scored));
  }
  return result;
}

}  // namespace ffn
