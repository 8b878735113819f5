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

/// Passes characters on: tokens are some, or bytes, which wait until one is complete. Bytes that are no character count as U+FFFD.
class Writer {
 public:
  Writer(const std::map<std::string, std::string>& metadata, const std::function<void(const std::string&)>& emit)
      : alphabet_(alphabet_of(metadata)), of_bytes_(has_bytes_alphabet(metadata)), emit_(emit) {}

  void write(std::int64_t id) {
    const std::uint32_t token = alphabet_[static_cast<std::size_t>(id)];
    if (!of_bytes_) return append_utf8(waiting_, token), finish();
    const bool goes_on = (token & 0xC0) == 0x80;
    if (!goes_on || waiting_.empty()) finish();
    waiting_.push_back(static_cast<char>(token));
    if (!first_invalid_utf8(waiting_) || waiting_.size() == 4) finish();
  }
  void finish() {
    if (!waiting_.empty()) emit_(first_invalid_utf8(waiting_) ? "\uFFFD" : waiting_);
    waiting_.clear();
  }

 private:
  std::vector<std::uint32_t> alphabet_;
  bool of_bytes_;
  const std::function<void(const std::string&)>& emit_;
  std::string waiting_;
};

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
                                                  : encode(request.prompt.empty() ? "\n" : request.prompt, weights.metadata, "the prompt");
  Writer writer(weights.metadata, emit);
  RandomStream random(sub_seed(static_cast<std::uint64_t>(request.seed), "sample"), 0);
  for (std::int64_t i = 0; i < request.length; ++i) {
    const auto window = std::min<std::int64_t>(shape.sequence_length, static_cast<std::int64_t>(ids.size()));
    ExampleSet last;
    last.count = 1;
    last.tokens.assign(ids.end() - window, ids.end());
    const auto outputs = network.outputs(last);
    const std::vector<float> logits(outputs.end() - shape.num_classes, outputs.end());
    ids.push_back(draw(logits, request, random.uniform()));
    writer.write(ids.back());
  }
  writer.finish();
}

}  // namespace ffn
