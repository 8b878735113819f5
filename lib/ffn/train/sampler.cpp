#include "ffn/train/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ffn/config/accounting.hpp"
#include "ffn/core/error.hpp"
#include "ffn/core/random.hpp"
#include "ffn/core/utf8.hpp"
#include "ffn/tasks/task.hpp"
#include "ffn/train/engine.hpp"

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

// A config that asks for far more than the file holds is refused before a network of that size is built; what else does not
// fit, import_row() finds.
void require_size(const RunConfig& config, const TaskShape& shape, const TensorFile& weights) {
  std::int64_t held = 0;
  for (const auto& tensor : weights.tensors) held += static_cast<std::int64_t>(tensor.bytes.size() / dtype_size(tensor.dtype));
  const auto needed = model_cost(config.model, shape).total.parameters;
  constexpr std::int64_t kSmall = 1 << 20;
  if (needed <= 4 * held + kSmall) return;
  throw CheckpointError("the shapes of the weights do not fit the model: they hold " + std::to_string(held) +
                            " numbers, the config describes " + std::to_string(needed),
                        "use the config.json that stands beside the weights");
}

void require_finite(const TensorFile& weights) {
  for (const auto& tensor : weights.tensors) {
    if (tensor.dtype != DType::f32) continue;  // refused by import_row()
    for (std::size_t i = 0; i < tensor.bytes.size() / sizeof(float); ++i) {
      float value = 0;
      std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
      if (std::isfinite(value)) continue;
      throw CheckpointError(
          "the weights hold " + std::string(std::isnan(value) ? "NaN" : "infinity") + ": " + tensor.name + ", element " + std::to_string(i),
          "the training diverged or the file is damaged; train the run again with --fresh");
    }
  }
}

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

// The task's shape without its text, for a network that only reads tokens.
class SampledTask final : public Task {
 public:
  explicit SampledTask(const TaskShape& shape) : Task({DataSeeds{}}), shape_(shape) {}
  TaskShape shape() const override { return shape_; }
  void write_batch(std::size_t, std::int64_t, std::int64_t, const BatchPlace&) const override {}
  ExampleSet validation(std::int64_t) const override { return empty_set(0); }

 private:
  TaskShape shape_;
};

}  // namespace

void sample_text(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
                 const std::function<void(const std::string&)>& emit) {
  const auto* text = std::get_if<TextConfig>(&config.task);
  if (!text) throw UsageError("only text runs can be sampled; this run's task is something else");
  const auto alphabet = alphabet_of(weights);
  const auto characters = static_cast<std::int64_t>(alphabet.size());
  const TaskShape shape{true, characters, text->context, characters};
  require_size(config, shape, weights);
  require_finite(weights);
  const SampledTask task(shape);
  RunConfig here = config;
  here.train.batch_size = 1;  // no batch is computed; nothing is kept ready for one
  here.compute = ComputeConfig{};
  const auto learner = make_learner({here}, task);
  std::vector<float> row(static_cast<std::size_t>(learner->layout().width()));
  learner->layout().import_row(row.data(), weights.tensors);
  learner->write_state(0, 0, row.data());

  auto ids = encode(request.prompt.empty() ? "\n" : request.prompt, alphabet);
  RandomStream random(sub_seed(static_cast<std::uint64_t>(request.seed), "sample"), 0);
  for (std::int64_t i = 0; i < request.length; ++i) {
    const auto window = std::min<std::int64_t>(text->context, static_cast<std::int64_t>(ids.size()));
    ids.push_back(draw(learner->next_logits({ids.end() - window, ids.end()}), request, random.uniform()));
    std::string piece;
    append_utf8(piece, alphabet[static_cast<std::size_t>(ids.back())]);
    emit(piece);
  }
}

}  // namespace ffn
