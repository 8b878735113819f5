#include "ffn/inspect/surface.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "ffn/base/error.hpp"
#include "ffn/config/function_task.hpp"
#include "ffn/data/table.hpp"
#include "ffn/inspect/inspection.hpp"
#include "ffn/train/cohort_config.hpp"

namespace ffn::inspect {

namespace {

constexpr std::int64_t kSide = 100, kCurve = 400;  // TensorFlow Playground, src/playground.ts: DENSITY = 100
constexpr std::int64_t kExamples = 256;            // that say how far the inputs reach
constexpr std::size_t kShown = 60;                 // of those, to train and to validate each
constexpr std::int64_t kMostRegions = 20;          // more cannot be told apart
constexpr std::int64_t kMostUnits = 64;            // more lines hide what they lie on

// Names of the numbers that the network sees. None where one is no place on an axis: an integer, or a category, is one of several there.
struct InputNames {
  std::int64_t width;

  std::vector<std::string> operator()(const FunctionConfig& config) const {
    if (!config.features.empty()) return numbered();
    std::vector<std::string> out;
    for (const auto& input : function_task(config).inputs) {
      if (input.kind == FunctionInput::Kind::integer) return {};
      for (std::int64_t j = 0; j < input.size; ++j) out.push_back(input.name + (input.size > 1 ? "[" + std::to_string(j) + "]" : ""));
    }
    return out;
  }
  std::vector<std::string> operator()(const TableConfig& config) const {
    std::vector<std::string> out;
    for (const auto& column : read_table(config)->inputs) {
      if (!column.is_number() || column.has_missing) return {};
      out.push_back(column.name + " (standardised)");
    }
    return out;
  }
  template <class AnyTask>
  std::vector<std::string> operator()(const AnyTask&) const {
    return numbered();
  }
  std::vector<std::string> numbered() const {
    std::vector<std::string> out;
    for (std::int64_t i = 0; i < width; ++i) out.push_back("input " + std::to_string(i));
    return out;
  }
};

std::vector<std::string> kinds_of(const RunConfig& config, const TaskShape& shape, const TensorFile& weights) {
  if (shape.target == Target::vectors) return {"above 0", "below 0"};
  if (std::holds_alternative<TableConfig>(config.task)) return trained_table(weights.metadata).columns.target.values;
  std::vector<std::string> out;
  for (std::int64_t k = 0; k < shape.num_classes; ++k) out.push_back("class " + std::to_string(k));
  return out;
}

std::optional<Surface> empty_surface(const RunConfig& config, const TaskShape& shape, const TensorFile& weights) {
  Surface out;
  const bool classes = shape.target == Target::classes;
  if (shape.tokens || shape.sequence_length > 1 || (!classes && shape.num_classes > 1)) return std::nullopt;
  if (shape.num_classes > kMostRegions) return std::nullopt;
  if (shape.input_width != 2 && (classes || shape.input_width != 1)) return std::nullopt;
  out.names = std::visit(InputNames{shape.input_width}, config.task);
  if (out.names.empty()) return std::nullopt;
  out.kind = shape.input_width == 1 ? Surface::Kind::curve : classes ? Surface::Kind::classes : Surface::Kind::numbers;
  out.outputs = shape.num_classes;
  out.kinds = kinds_of(config, shape, weights);
  return out;
}

// Their reach, and an even choice of them, each once.
void add_examples(Surface& s, const ExampleSet& set, bool trained) {
  const bool plane = s.kind != Surface::Kind::curve;
  const auto width = s.names.size();
  const auto count = static_cast<std::size_t>(set.count);
  std::set<std::tuple<double, double, std::int64_t>> seen;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      const auto x = static_cast<double>(set.vectors[i * width + k]);
      s.low[k] = std::min(s.low[k], x);
      s.high[k] = std::max(s.high[k], x);
    }
    const double value = s.kind == Surface::Kind::classes ? 0 : static_cast<double>(set.values[i]);
    s.peak = std::max(s.peak, std::abs(value));
    const Surface::Example example{static_cast<double>(set.vectors[i * width]),
                                   plane ? static_cast<double>(set.vectors[i * width + 1]) : value,
                                   s.kind == Surface::Kind::classes ? set.labels[i]
                                   : value < 0                      ? 1
                                                                    : 0,
                                   trained};
    const bool chosen = count <= kShown || i * kShown / count != (i + 1) * kShown / count;
    if (chosen && seen.insert({example.x, example.y, example.kind}).second) s.examples.push_back(example);
  }
}

void add_all_examples(Surface& s, const RunConfig& config, const TensorFile& weights) {
  const auto task = make_task(config.task, data_seeds({config}));
  for (const auto& [key, value] : task->metadata(0)) {
    const auto found = weights.metadata.find(key);
    if (found == weights.metadata.end() || found->second != value)
      throw DataError("the " + key + " is not the one that the run was trained on", "put the file back, or train the run again");
  }
  s.low.assign(s.names.size(), INFINITY);
  s.high.assign(s.names.size(), -INFINITY);
  ExampleSet trained = task->empty_set(0);
  for (std::int64_t step = 0; trained.count < kExamples && step < config.train.steps; ++step) {
    const auto batch = task->batch(0, step, std::min(config.train.batch_size, kExamples));
    trained.count += batch.count;
    trained.vectors.insert(trained.vectors.end(), batch.vectors.begin(), batch.vectors.end());
    trained.labels.insert(trained.labels.end(), batch.labels.begin(), batch.labels.end());
    trained.values.insert(trained.values.end(), batch.values.begin(), batch.values.end());
  }
  add_examples(s, trained, true);
  add_examples(s, task->validation(kExamples), false);
  for (std::size_t k = 0; k < s.names.size(); ++k) {
    const double beyond = s.high[k] > s.low[k] ? 0.12 * (s.high[k] - s.low[k]) : 1;
    s.low[k] -= beyond;
    s.high[k] += beyond;
  }
}

Inputs inputs_of(const TaskShape& shape, std::vector<float> vectors) {
  Inputs out;
  out.shape = shape;
  out.count = static_cast<std::int64_t>(vectors.size()) / shape.input_width;
  out.vectors = std::move(vectors);
  return out;
}

// In place.
void softmax(double* logits, std::int64_t classes) {
  const double top = *std::max_element(logits, logits + classes);
  double sum = 0;
  for (std::int64_t c = 0; c < classes; ++c) sum += logits[c] = std::exp(logits[c] - top);
  for (std::int64_t c = 0; c < classes; ++c) logits[c] /= sum;
}

void add_values(Surface& s, const TaskShape& shape, TrainedNetwork& trained, std::int64_t most_places) {
  constexpr std::int64_t kAtOnce = 4096;  // bounds memory
  const bool plane = s.kind != Surface::Kind::curve;
  s.side = plane ? std::min(kSide, static_cast<std::int64_t>(std::sqrt(static_cast<double>(most_places)))) : std::min(kCurve, most_places);
  std::vector<float> places;
  for (std::int64_t row = 0; row < (plane ? s.side : 1); ++row) {
    for (std::int64_t column = 0; column < s.side; ++column) {
      places.push_back(static_cast<float>(s.at(0, column)));
      if (plane) places.push_back(static_cast<float>(s.at(1, row)));
    }
  }
  const Inputs inputs = inputs_of(shape, std::move(places));
  for (std::int64_t first = 0; first < inputs.count; first += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, inputs.count - first);
    const float* outputs = trained.network().logits(trained.row(), inputs.examples(first, count));
    s.values.insert(s.values.end(), outputs, outputs + count * s.outputs);
  }
  for (std::int64_t i = 0; s.kind == Surface::Kind::classes && i < inputs.count; ++i) softmax(s.values.data() + i * s.outputs, s.outputs);
}

// Up to the first layer's units a network without attention and a norm on the way is affine: the corners say all.
void add_zeros(Surface& s, const TaskShape& shape, TrainedNetwork& trained) {
  if (trained.model().attention || trained.model().norm.places().before) return;
  const bool plane = s.kind != Surface::Kind::curve;
  std::vector<Surface::Point> corners{{s.low[0], 0}, {s.high[0], 0}};
  if (plane) corners = {{s.low[0], s.low[1]}, {s.high[0], s.low[1]}, {s.high[0], s.high[1]}, {s.low[0], s.high[1]}};
  std::vector<float> vectors;
  for (const auto& corner : corners) {
    vectors.push_back(static_cast<float>(corner[0]));
    if (plane) vectors.push_back(static_cast<float>(corner[1]));
  }
  const auto blocks = capture(trained.model(), trained.network(), trained.row(), inputs_of(shape, std::move(vectors)));
  if (blocks[0].hidden.size() != 1 || blocks[0].hidden[0].pre_activation.empty() || blocks[0].routed.num_experts > 0 ||
      blocks[0].hidden[0].width > kMostUnits)
    return;
  const auto& units = blocks[0].hidden[0];
  for (std::int64_t unit = 0; unit < units.width; ++unit) {
    const auto z = [&](std::size_t corner) {
      return static_cast<double>(units.pre_activation[corner * static_cast<std::size_t>(units.width) + static_cast<std::size_t>(unit)]);
    };
    std::vector<Surface::Point> crossed;
    for (std::size_t from = 0; from < (plane ? 4u : 1u); ++from) {
      const std::size_t to = (from + 1) % corners.size();
      if ((z(from) < 0) == (z(to) < 0)) continue;
      const double share = z(from) / (z(from) - z(to));
      crossed.push_back(
          {corners[from][0] + share * (corners[to][0] - corners[from][0]), corners[from][1] + share * (corners[to][1] - corners[from][1])});
    }
    const bool finite = std::all_of(crossed.begin(), crossed.end(), [](const auto& at) { return std::isfinite(at[0] + at[1]); });
    if (!crossed.empty() && finite) s.zeros.push_back(crossed);
  }
}

}  // namespace

double Surface::at(std::size_t input, std::int64_t index) const {
  return low[input] + (high[input] - low[input]) * (static_cast<double>(index) + 0.5) / static_cast<double>(side);
}

Surface::Cell Surface::cell(std::int64_t column, std::int64_t row) const {
  const double* of = values.data() + (row * side + column) * outputs;
  if (!std::all_of(of, of + outputs, [](double x) { return std::isfinite(x); })) return {-1, 0};
  if (kind == Kind::numbers) return {*of < 0 ? 1 : 0, peak > 0 ? std::min(1.0, std::abs(*of) / peak) : 0};
  const auto* most = std::max_element(of, of + outputs);
  const double even = 1 / static_cast<double>(outputs);
  return {most - of, (*most - even) / (1 - even)};
}

std::optional<Surface> surface_of(const RunConfig& config, const TensorFile& weights, TrainedNetwork& trained, const Surface* beside) {
  const auto shape = trained_shape(config.task, weights.metadata);
  auto out = empty_surface(config, shape, weights);
  if (!out) return out;
  add_all_examples(*out, config, weights);
  if (beside && beside->names == out->names) {
    out->low = beside->low;
    out->high = beside->high;
  }
  add_values(*out, shape, trained, most_tokens(config, shape));
  add_zeros(*out, shape, trained);
  return out;
}

}  // namespace ffn::inspect
