#include "ffn/torch/sampler.hpp"

#include <algorithm>

#include "ffn/core/error.hpp"
#include "ffn/core/random.hpp"
#include "ffn/core/utf8.hpp"
#include "ffn/nn/network.hpp"
#include "ffn/nn/parameter_row.hpp"

namespace ffn {

namespace {

std::vector<std::uint32_t> alphabet_of(const TensorFile& weights) {
  const auto found = weights.metadata.find("alphabet");
  if (found == weights.metadata.end()) throw CheckpointError("the weights name no alphabet; they are not from a text task");
  return decode_utf8(found->second);
}

std::vector<std::int64_t> encode(const std::string& text, const std::vector<std::uint32_t>& alphabet) {
  if (const auto offset = first_invalid_utf8(text)) throw UsageError("the prompt is not valid UTF-8 at byte " + std::to_string(*offset));
  std::vector<std::int64_t> ids;
  for (const auto c : decode_utf8(text)) {
    const auto at = std::lower_bound(alphabet.begin(), alphabet.end(), c);
    if (at == alphabet.end() || *at != c) {
      std::string character, known;
      append_utf8(character, c);
      for (const auto k : alphabet) {
        if (k >= ' ') append_utf8(known, k);
      }
      throw UsageError("the prompt's '" + character + "' does not occur in the training text", "known characters: " + known);
    }
    ids.push_back(at - alphabet.begin());
  }
  return ids;
}

// Index drawn from softmax(logits / temperature) over the top_k largest; the largest itself at temperature 0.
std::int64_t draw(const torch::Tensor& logits, const SampleRequest& request, double u) {
  if (request.temperature == 0) return logits.argmax().item<std::int64_t>();
  const auto k = request.top_k > 0 ? std::min(request.top_k, logits.size(0)) : logits.size(0);
  const auto [values, ids] = logits.to(torch::kFloat64).topk(k);
  const torch::Tensor probability = (values / request.temperature).softmax(0);
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    sum += probability[i].item<double>();
    if (u < sum) return ids[i].item<std::int64_t>();
  }
  return ids[k - 1].item<std::int64_t>();
}

}  // namespace

void sample_text(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
                 const std::function<void(const std::string&)>& emit) {
  const auto* text = std::get_if<TextConfig>(&config.task);
  if (!text) throw UsageError("only text runs can be sampled; this run's task is something else");
  const auto alphabet = alphabet_of(weights);
  const auto characters = static_cast<std::int64_t>(alphabet.size());
  nn::Network network(1, config.model, TaskShape{true, characters, text->context, characters});
  nn::ParameterRow row(*network);
  row.import_run(0, weights.tensors);

  const torch::InferenceMode inference;
  auto ids = encode(request.prompt.empty() ? "\n" : request.prompt, alphabet);
  RandomStream random(sub_seed(static_cast<std::uint64_t>(request.seed), "sample"), 0);
  for (std::int64_t i = 0; i < request.length; ++i) {
    const auto window = std::min<std::int64_t>(text->context, static_cast<std::int64_t>(ids.size()));
    const torch::Tensor input = torch::tensor(std::vector<std::int64_t>(ids.end() - window, ids.end()), torch::kInt64).view({1, 1, window});
    const torch::Tensor logits = network(input, nn::ForwardContext{}).logits[0][window - 1];
    ids.push_back(draw(logits, request, random.uniform()));
    std::string piece;
    append_utf8(piece, alphabet[static_cast<std::size_t>(ids.back())]);
    emit(piece);
  }
}

}  // namespace ffn
