#include "ffn/train/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/text.hpp"
#include "ffn/data/task.hpp"
#include "ffn/train/trained.hpp"

namespace ffn {

namespace {

// Index drawn from softmax(logits / temperature) over the top_k largest; the largest itself at temperature 0.
std::int64_t draw(const std::vector<float>& logits, const SampleRequest& request, double u) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t id) { return static_cast<double>(logits[static_cast<std::size_t>(id)]); };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return at(a) > at(b); });
  if (request.temperature == 0) return order[0];
  if (request.top_k > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(request.top_k)));
  std::vector<double> weight;
  for (const auto id : order) weight.push_back(std::exp((at(id) - at(order[0])) / request.temperature));
  double left = u * std::accumulate(weight.begin(), weight.end(), 0.0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    left -= weight[i];
    if (left < 0) return order[i];
  }
  return order.back();
}

}  // namespace

void sample_text(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
                 const std::function<void(const std::string&)>& emit) {
  if (!writes_text(config.task)) throw UsageError("only text runs can be sampled; this run's task is something else");
  const auto alphabet = alphabet_of(weights.metadata);
  const TaskShape shape = trained_shape(config.task, weights.metadata);
  const TrainedNetwork network(config, shape, weights);

  // Without a prompt a line begins; a text without lines begins with its first character in order.
  const bool has_lines = std::binary_search(alphabet.begin(), alphabet.end(), std::uint32_t{'\n'});
  auto ids = request.prompt.empty() && !has_lines ? std::vector<std::int64_t>{0}
                                                  : encode(request.prompt.empty() ? "\n" : request.prompt, alphabet, "the prompt");
  RandomStream random(sub_seed(static_cast<std::uint64_t>(request.seed), "sample"), 0);
  for (std::int64_t i = 0; i < request.length; ++i) {
    const auto window = std::min<std::int64_t>(shape.sequence_length, static_cast<std::int64_t>(ids.size()));
    ExampleSet last;
    last.count = 1;
    last.tokens.assign(ids.end() - window, ids.end());
    const auto outputs = network.outputs(last);
    const std::vector<float> logits(outputs.end() - shape.num_classes, outputs.end());
    ids.push_back(draw(logits, request, random.uniform()));
    std::string piece;
    append_utf8(piece, alphabet[static_cast<std::size_t>(ids.back())]);
    emit(piece);
  }
}

}  // namespace ffn
