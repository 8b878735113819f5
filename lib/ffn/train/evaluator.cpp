#include "ffn/train/evaluator.hpp"

#include <algorithm>
#include <cmath>

namespace ffn {

namespace {

// Σ (y − ȳ)²/count over each number of the targets, the mean over them. Exactly 0 for constants, whatever rounding makes of their mean.
double variance(const float* values, std::int64_t count, std::int64_t width) {
  double squares = 0;
  for (std::int64_t j = 0; j < width; ++j) {
    double mean = 0;
    bool varies = false;
    for (std::int64_t i = 0; i < count; ++i) varies = varies || values[i * width + j] != values[j];
    if (!varies) continue;
    for (std::int64_t i = 0; i < count; ++i) mean += static_cast<double>(values[i * width + j]) / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) squares += std::pow(static_cast<double>(values[i * width + j]) - mean, 2);
  }
  return squares / static_cast<double>(count * width);
}

double root_mean_square(const float* values, std::int64_t count, double from) {
  double squares = 0;
  for (std::int64_t i = 0; i < count; ++i) squares += std::pow(static_cast<double>(values[i]) - from, 2);
  return std::sqrt(squares / static_cast<double>(count));
}

double share_of(std::int64_t label, const std::int64_t* labels, std::int64_t count) {
  return static_cast<double>(std::count(labels, labels + count, label)) / static_cast<double>(count);
}

double cross_entropy(const std::vector<double>& frequencies, const std::int64_t* labels, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum -= std::log(frequencies[static_cast<std::size_t>(labels[i])]);
  return sum / static_cast<double>(count);
}

// For a text's tokens; empty for other tasks.
std::vector<std::int64_t> bytes_of_tokens(const std::map<std::string, std::string>& metadata) {
  if (metadata.count("alphabet") == 0) return {};
  std::vector<std::int64_t> out;
  for (const auto c : alphabet_of(metadata)) out.push_back(1 + (c >= 0x80) + (c >= 0x800) + (c >= 0x10000));
  return has_bytes_alphabet(metadata) ? std::vector<std::int64_t>(out.size(), 1) : out;
}

double mean_bytes(const std::vector<std::int64_t>& of_tokens, const std::int64_t* labels, std::int64_t count) {
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < count; ++i) bytes += of_tokens[static_cast<std::size_t>(labels[i])];
  return static_cast<double>(bytes) / static_cast<double>(count);
}

}  // namespace

Evaluator::Evaluator(const Task& task, std::int64_t max_examples, std::int64_t ffn_parameters)
    : shape_(task.shape()), ffn_parameters_(static_cast<double>(ffn_parameters)) {
  const bool of_classes = shape_.target == Target::classes;
  for (std::int64_t run = 0; run < task.num_runs(); ++run) target_unit_.push_back(task.target_unit(static_cast<std::size_t>(run)));
  const auto token_bytes = bytes_of_tokens(task.metadata(0));
  if (of_classes && !task.constant_answer(0) && token_bytes.empty()) return;
  ExampleSet validation = task.validation(max_examples);
  const std::int64_t positions = validation.count * shape_.sequence_length, numbers = positions * shape_.num_classes;
  for (std::int64_t run = 0; run < task.num_runs(); ++run) {
    const BatchPlace at = task.place(validation, run);
    if (!token_bytes.empty() && (run == 0 || !validation.shared)) {
      bytes_.push_back(mean_bytes(token_bytes, at.labels, positions));
      compressed_.push_back(*task.compressed(static_cast<std::size_t>(run)));
    }
    if (!of_classes && (run == 0 || !validation.shared)) target_variance_.push_back(variance(at.values, positions, shape_.num_classes));
    if (const auto frequencies = task.class_frequencies(static_cast<std::size_t>(run)); !frequencies.empty())
      frequency_loss_.push_back(cross_entropy(frequencies, at.labels, positions));
    const auto answer = task.constant_answer(static_cast<std::size_t>(run));
    if (!answer) continue;
    if (of_classes) baseline_.push_back(share_of(static_cast<std::int64_t>(*answer), at.labels, positions));
    else baseline_.push_back(target_unit_[static_cast<std::size_t>(run)] * root_mean_square(at.values, numbers, *answer));
  }
}

MeasuredMetrics Evaluator::metrics(std::size_t run, const LossSums& sums) const {
  const double mean = loss(sums);
  MeasuredMetrics out{{&metric::kValLoss, mean}};
  if (shape_.target == Target::classes) {
    out.emplace_back(&metric::kValAccuracy, static_cast<double>(sums.correct) / static_cast<double>(sums.scored));
  } else {
    const double squared_error = sums.squared_error / static_cast<double>(sums.scored);
    out.emplace_back(&metric::kValRmse, target_unit_[run] * std::sqrt(squared_error));
    const double of_targets = target_variance_[target_variance_.size() == 1 ? 0 : run];
    if (of_targets > 0) out.emplace_back(&metric::kValR2, 1 - squared_error / of_targets);  // undefined for constants
  }
  if (!baseline_.empty())
    out.emplace_back(shape_.target == Target::classes ? &metric::kValMajorityAccuracy : &metric::kValMeanRmse, baseline_[run]);
  if (!frequency_loss_.empty()) out.emplace_back(&metric::kValFrequencyLoss, frequency_loss_[run]);
  out.emplace_back(&metric::kValBitsPerChar, mean / std::log(2.0));
  if (!bytes_.empty()) {
    const std::size_t of = bytes_.size() == 1 ? 0 : run;
    out.emplace_back(&metric::kValBitsPerByte, mean / std::log(2.0) / bytes_[of]);
    out.emplace_back(&metric::kValGzipBitsPerByte, compressed_[of]);
  }
  out.emplace_back(&metric::kValPerplexity, std::exp(mean));
  for (std::size_t m = 0; m < output_metrics().size() && shape_.target == Target::classes; ++m)
    out.emplace_back(&output_metrics()[m].row, sums.of_outputs[m] / static_cast<double>(sums.scored));
  const double keys_per_parameter = static_cast<double>(shape_.input_width) / ffn_parameters_, bits = std::log2(shape_.num_classes);
  out.emplace_back(&metric::kValBitsPerParam, keys_per_parameter * (bits - mean / std::log(2.0)));
  out.emplace_back(&metric::kValMostBitsPerParam, keys_per_parameter * bits);
  return out;
}

}  // namespace ffn
