#include "ffn/train/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/base/error.hpp"
#include "ffn/base/random.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/data/task.hpp"
#include "ffn/train/engine.hpp"
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
  if (!writes_text(config.task)) throw UsageError("only text runs can be sampled; this run's task is something else");
  const auto alphabet = alphabet_of(weights.metadata);
  const TaskShape shape = trained_shape(config.task, weights.metadata);
  require_usable(config, shape, weights);
  const SampledTask task(shape);
  RunConfig here = config;
  here.train.batch_size = 1;  // no batch is computed; nothing is kept ready for one
  here.compute = ComputeConfig{};
  const auto learner = make_learner({here}, task);
  std::vector<float> row(static_cast<std::size_t>(learner->layout().width()));
  learner->layout().import_row(row.data(), weights.tensors);
  learner->write_state(0, 0, row.data());

  // Without a prompt a line begins; a text without lines begins with its first character in order.
  const bool has_lines = std::binary_search(alphabet.begin(), alphabet.end(), std::uint32_t{'\n'});
  auto ids = request.prompt.empty() && !has_lines ? std::vector<std::int64_t>{0}
                                                  : encode(request.prompt.empty() ? "\n" : request.prompt, alphabet, "the prompt");
  RandomStream random(sub_seed(static_cast<std::uint64_t>(request.seed), "sample"), 0);
  for (std::int64_t i = 0; i < request.length; ++i) {
    const auto window = std::min<std::int64_t>(shape.sequence_length, static_cast<std::int64_t>(ids.size()));
    const auto logits = learner->next_logits({ids.end() - window, ids.end()});
    if (!std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }))
      throw CheckpointError("the logits of this model are not finite: its training diverged, or its weights were changed",
                            "sample a run that ended well: `ffn-train runs` lists them; a lower train.optimizer.lr may train this one");
    ids.push_back(draw(logits, request, random.uniform()));
    std::string piece;
    append_utf8(piece, alphabet[static_cast<std::size_t>(ids.back())]);
    emit(piece);
  }
}

}  // namespace ffn
