#include "ffn/train/trained.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/accounting.hpp"
#include "ffn/data/task.hpp"
#include "ffn/train/engine.hpp"

namespace ffn {

namespace {

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
                        "build it from the config in the run.json beside the weights");
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

}  // namespace

std::vector<std::int64_t> encode(const std::string& text, const std::map<std::string, std::string>& metadata, const std::string& what) {
  if (const auto offset = first_invalid_utf8(text)) throw UsageError(what + " is not valid UTF-8 at byte " + std::to_string(*offset));
  const auto alphabet = alphabet_of(metadata);
  std::vector<std::int64_t> ids;
  if (has_bytes_alphabet(metadata)) {
    for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
    return ids;
  }
  for (const auto c : decode_utf8(text)) {
    const auto at = std::lower_bound(alphabet.begin(), alphabet.end(), c);
    if (at == alphabet.end() || *at != c) {
      std::string character, known;
      append_utf8(character, c);
      for (const auto k : alphabet) {
        if (k >= ' ') append_utf8(known, k);
      }
      throw UsageError(what + "'s '" + with_codes(character) + "' does not occur in the training text",
                       "known characters: " + with_codes(known));
    }
    ids.push_back(at - alphabet.begin());
  }
  return ids;
}

void require_usable(const RunConfig& config, const TaskShape& shape, const TensorFile& weights) {
  require_size(config, shape, weights);
  require_finite(weights);
}

namespace {

// The task's shape without its data, for a network that only computes outputs.
class ShapeOnly final : public Task {
 public:
  explicit ShapeOnly(const TaskShape& shape) : Task({DataSeeds{}}), shape_(shape) {}
  TaskShape shape() const override { return shape_; }
  void write_batch(std::size_t, std::int64_t, std::int64_t, const BatchPlace&) const override {}
  ExampleSet validation(std::int64_t) const override { return empty_set(0); }

 private:
  TaskShape shape_;
};

}  // namespace

TrainedNetwork::TrainedNetwork(const RunConfig& config, const TaskShape& shape, const TensorFile& weights) {
  require_usable(config, shape, weights);
  task_ = std::make_unique<ShapeOnly>(shape);
  RunConfig here = config;
  here.train.batch_size = 1;  // no batch is computed; nothing is kept ready for one
  here.compute = ComputeConfig{};
  learner_ = make_learner({here}, *task_);
  std::vector<float> row(static_cast<std::size_t>(learner_->layout().width()));
  learner_->layout().import_row(row.data(), weights.tensors);
  learner_->write_state(0, 0, row.data());
}

std::vector<float> TrainedNetwork::outputs(const ExampleSet& examples) const {
  auto out = learner_->outputs(examples);
  if (!std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); }))
    throw CheckpointError(std::string("the ") + (task_->shape().target == Target::classes ? "logits" : "outputs") +
                              " of this model are not finite: its training diverged, or its weights were changed",
                          "use a run that ended well: `ffn-train runs` lists them; a lower train.optimizer.lr may train this one");
  return out;
}

}  // namespace ffn
