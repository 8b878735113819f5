#include "ffn/train/evaluate.hpp"

#include <algorithm>

namespace ffn {

std::int64_t evaluation_chunk(std::int64_t sequence_length) {
  constexpr std::int64_t kTokensAtOnce = 4096;
  return std::max<std::int64_t>(1, kTokensAtOnce / sequence_length);
}

Validation validate(nn::Network& network, const Batch& set) {
  const torch::InferenceMode inference;
  const auto runs = set.inputs.size(0), examples = set.inputs.size(1);
  const auto per_example = set.labels.size(1) / examples;
  const auto chunk = evaluation_chunk(per_example);

  torch::Tensor loss_sum = torch::zeros({runs}, torch::kFloat64), correct = torch::zeros({runs}, torch::kInt64),
                scored = torch::zeros({runs}, torch::kInt64);
  for (std::int64_t begin = 0; begin < examples; begin += chunk) {
    const auto count = std::min(chunk, examples - begin);
    const auto out = network(set.inputs.narrow(1, begin, count).contiguous(), nn::ForwardContext{});
    const auto loss = nn::cross_entropy(out.logits, set.labels.narrow(1, begin * per_example, count * per_example).contiguous());
    loss_sum += loss.mean.to(torch::kFloat64) * loss.scored;
    correct += loss.correct;
    scored += loss.scored;
  }
  Validation result;
  for (std::int64_t r = 0; r < runs; ++r) {
    const auto n = static_cast<double>(scored[r].item<std::int64_t>());
    result.loss.push_back(loss_sum[r].item<double>() / n);
    result.accuracy.push_back(static_cast<double>(correct[r].item<std::int64_t>()) / n);
  }
  return result;
}

}  // namespace ffn
