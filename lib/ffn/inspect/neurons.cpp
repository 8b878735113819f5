#include "ffn/inspect/neurons.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ffn/kernels/spectrum.hpp"

namespace ffn::inspect {

const float* Parameters::find(const std::string& name) const {
  for (const auto& entry : layout_.entries()) {
    if (entry.name == name) return row_ + entry.offset;
  }
  return nullptr;
}

KeysAndValues keys_and_values(const Parameters& parameters, const ModelConfig& whole, std::int64_t block,
                              std::optional<std::int64_t> expert, std::int64_t width) {
  const ModelConfig model = whole.of_block(block);
  const auto graph = graph_of(layer_formula(model.ffn).value(), model.d_model, *size_of(model.ffn));
  const auto hidden = hidden_layer(graph).value();
  const std::string at = "block" + std::to_string(model.share_ffn ? 0 : block) + ".ffn." + (expert ? "experts." : "");
  const std::int64_t size = model.d_model * width;
  const auto node = [&](std::size_t i) -> const FormulaNode& { return graph.nodes[i]; };
  const auto matrix = [&](const FormulaNode& product, std::int64_t rows, std::int64_t cols) {
    const float* from =
        parameters.find(at + graph.parameters[static_cast<std::size_t>(product.parameter)].name) + expert.value_or(0) * size;
    std::vector<float> out(from, from + size);
    for (std::int64_t i = 0; product.transposed && i < size; ++i) out[static_cast<std::size_t>(i)] = from[i % cols * rows + i / cols];
    return out;
  };
  const auto read_from_x = [&](int product) -> std::vector<float> {
    if (product < 0 || node(static_cast<std::size_t>(node(static_cast<std::size_t>(product)).inputs[0])).op != FormulaOp::input) return {};
    return matrix(node(static_cast<std::size_t>(product)), model.d_model, width);
  };
  return {model.d_model, read_from_x(hidden.pre_activation), read_from_x(hidden.up_product),
          matrix(graph.nodes.back(), width, model.d_model)};
}

ReadOut::ReadOut(const Parameters& parameters, const ModelConfig& model, std::int64_t num_classes)
    : d_model_(model.d_model),
      num_classes_(num_classes),
      centres_(model.norm.centres()),
      scale_(parameters.find("final_norm.weight")),
      head_(parameters.find(model.tie ? "embedding" : "head.weight")),
      of_row_(model.tie ? 1 : num_classes),
      of_class_(model.tie ? d_model_ : 1) {}

std::vector<double> ReadOut::logits(const float* value) const {
  std::vector<double> x(value, value + d_model_);
  if (scale_) {
    const double mean = centres_ ? std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(d_model_) : 0;
    for (std::size_t d = 0; d < x.size(); ++d) x[d] = (x[d] - mean) * static_cast<double>(scale_[d]);
  }
  std::vector<double> out(static_cast<std::size_t>(num_classes_), 0.0);
  for (std::int64_t d = 0; d < d_model_; ++d) {
    for (std::int64_t c = 0; c < num_classes_; ++c)
      out[static_cast<std::size_t>(c)] += x[static_cast<std::size_t>(d)] * static_cast<double>(head_[d * of_row_ + c * of_class_]);
  }
  return out;
}

namespace {

constexpr std::size_t kMostClasses = 5;  // listed at either end

double root_mean_square(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return values.empty() ? 0 : std::sqrt(sum / static_cast<double>(values.size()));
}

double share_below(const std::vector<float>& values, double limit) {
  const auto low = static_cast<float>(limit);
  const auto count = std::count_if(values.begin(), values.end(), [&](float value) { return std::abs(value) < low || value == 0; });
  return values.empty() ? 0 : static_cast<double>(count) / static_cast<double>(values.size());
}

// Sums over the tokens, row by row as they stand in memory.
void measure_activations(const HiddenRows& hidden, HiddenReport& report) {
  const auto width = static_cast<std::size_t>(hidden.width), rows = static_cast<std::size_t>(hidden.rows());
  std::vector<std::int64_t> fires(width, 0);
  std::vector<std::array<std::int64_t, 4>> signs(hidden.gated() ? width : 0, {0, 0, 0, 0});
  for (std::size_t n = 0; n < rows; ++n) {
    for (std::size_t i = 0; i < width; ++i) {
      const std::size_t at = n * width + i;
      const double size = std::abs(static_cast<double>(hidden.hidden[at]));
      auto& neuron = report.neurons[i];
      neuron.mean_size += size;
      neuron.peak = std::max(neuron.peak, size);
      fires[i] += hidden.fires_by()[at] > 0;
      if (!signs.empty()) ++signs[i][(hidden.gate[at] > 0 ? 0u : 2u) + (hidden.up[at] > 0 ? 0u : 1u)];
    }
  }
  const double limit = kNearZero * report.rms, tokens = static_cast<double>(rows);
  for (std::size_t i = 0; i < width; ++i) {
    auto& neuron = report.neurons[i];
    neuron.mean_size /= tokens;
    neuron.fires = static_cast<double>(fires[i]) / tokens;
    neuron.dead = neuron.peak < limit || neuron.peak == 0;
    neuron.always_on = fires[i] == static_cast<std::int64_t>(rows);
    for (std::size_t s = 0; s < 4 && !signs.empty(); ++s) neuron.signs[s] = static_cast<double>(signs[i][s]) / tokens;
  }
}

// Norm of a column of (D, F).
double column_norm(const std::vector<float>& matrix, std::int64_t d_model, std::int64_t width, std::int64_t column) {
  double sum = 0;
  for (std::int64_t d = 0; d < d_model; ++d) sum += std::pow(static_cast<double>(matrix[static_cast<std::size_t>(d * width + column)]), 2);
  return std::sqrt(sum);
}

void measure_weights(const KeysAndValues& weights, std::int64_t width, NeuronReport& neuron) {
  const float* value = weights.down.data() + neuron.index * weights.d_model;
  double together = 0, square = 0;
  for (std::int64_t d = 0; d < weights.d_model; ++d) {
    if (!weights.key.empty())
      together += static_cast<double>(weights.key[static_cast<std::size_t>(d * width + neuron.index)]) * static_cast<double>(value[d]);
    square += static_cast<double>(value[d]) * static_cast<double>(value[d]);
  }
  neuron.key_norm = weights.key.empty() ? NAN : column_norm(weights.key, weights.d_model, width, neuron.index);
  neuron.value_norm = std::sqrt(square);
  neuron.up_norm = weights.up.empty() ? NAN : column_norm(weights.up, weights.d_model, width, neuron.index);
  const double both = neuron.key_norm * neuron.value_norm;
  neuron.cosine = std::isnan(both) ? NAN : both > 0 ? together / both : 0;
}

void read_out_value(const std::vector<double>& logits, NeuronReport& neuron) {
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto logit = [&](std::int64_t c) { return logits[static_cast<std::size_t>(c)]; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return logit(a) > logit(b); });
  const std::size_t listed = std::min(kMostClasses, order.size());
  if (!order.empty()) neuron.favourite = order[0];
  for (std::size_t i = 0; i < listed; ++i) {
    const std::int64_t high = order[i], low = order[order.size() - 1 - i];
    if (logit(high) > 0) neuron.towards.push_back({high, logit(high)});
    if (logit(low) < 0) neuron.against.push_back({low, logit(low)});
  }
}

// How many tokens to measure the rank on so that the work, the product of both sides and the smaller one, stays below a second.
std::int64_t rank_tokens(std::int64_t width) {
  constexpr std::int64_t kMostTokens = 4096, kMostSide = 1024, kProducts = 2'000'000'000;
  if (width <= kMostSide) return std::clamp(kProducts / (width * width), 2 * width, kMostTokens);
  return std::clamp<std::int64_t>(std::llround(std::sqrt(kProducts / width)), 64, kMostSide);
}

void measure_rank(const HiddenRows& hidden, HiddenReport& report) {
  const std::int64_t rows = hidden.rows(), width = hidden.width;
  report.rank_tokens = std::min(rows, rank_tokens(width));
  std::vector<float> some;
  some.reserve(static_cast<std::size_t>(report.rank_tokens * width));
  for (const auto row : drawn_rows(rows, report.rank_tokens)) {
    const auto first = hidden.hidden.begin() + static_cast<std::ptrdiff_t>(row * width);
    some.insert(some.end(), first, first + static_cast<std::ptrdiff_t>(width));
  }
  report.effective_rank = effective_rank(singular_values(some.data(), report.rank_tokens, width));
}

// Over the neurons.
void sum_up(HiddenReport& report) {
  const auto width = static_cast<double>(report.width);
  for (const auto& neuron : report.neurons) {
    report.fires += neuron.fires / width;
    report.dead += neuron.dead;
    report.always_on += neuron.always_on;
    ++report.rates[std::min(kRateBins - 1, static_cast<std::size_t>(neuron.fires * static_cast<double>(kRateBins)))];
    for (std::size_t s = 0; s < 4; ++s) report.signs[s] += neuron.signs[s] / width;
  }
}

bool all_finite(const HiddenRows& hidden) {
  for (const auto* values : {&hidden.pre_activation, &hidden.gate, &hidden.up, &hidden.hidden}) {
    if (!std::all_of(values->begin(), values->end(), [](float x) { return std::isfinite(x); })) return false;
  }
  return true;
}

// Shares of an infinite root mean square, and ranks of what has none, would be made up.
void leave_open(HiddenReport& report) {
  report.finite = false;
  for (double* x : {&report.rms, &report.zeros, &report.near_zeros, &report.fires, &report.effective_rank, &report.gate_near_zeros,
                    &report.up_near_zeros})
    *x = NAN;
  report.signs.fill(NAN);
  for (auto& neuron : report.neurons) {
    neuron.fires = neuron.mean_size = neuron.peak = NAN;
    neuron.signs.fill(NAN);
  }
}

}  // namespace

HiddenReport report_on(const HiddenRows& hidden, const KeysAndValues& weights, const ReadOut* read_out, std::int64_t all_tokens) {
  HiddenReport report;
  report.tokens = hidden.rows();
  report.width = hidden.width;
  report.gated = hidden.gated();
  report.neurons.resize(static_cast<std::size_t>(report.width));
  for (std::size_t i = 0; i < report.neurons.size(); ++i) {
    auto& neuron = report.neurons[i];
    neuron.index = static_cast<std::int64_t>(i);
    if (all_tokens > 0) neuron.reach = static_cast<double>(report.tokens) / static_cast<double>(all_tokens);
    measure_weights(weights, report.width, neuron);
    if (read_out) read_out_value(read_out->logits(weights.down.data() + neuron.index * weights.d_model), neuron);
  }
  if (report.tokens == 0) return report;  // an expert that nothing was sent to
  if (!all_finite(hidden)) {
    leave_open(report);
    return report;
  }
  report.rms = root_mean_square(hidden.hidden);
  report.zeros = share_below(hidden.hidden, 0);
  report.near_zeros = share_below(hidden.hidden, kNearZero * report.rms);
  if (hidden.gated()) {
    report.gate_near_zeros = share_below(hidden.gate, kNearZero * root_mean_square(hidden.gate));
    report.up_near_zeros = share_below(hidden.up, kNearZero * root_mean_square(hidden.up));
  }
  measure_activations(hidden, report);
  measure_rank(hidden, report);
  sum_up(report);
  return report;
}

std::optional<Agreement> agreement_of(const HiddenRows& hidden, const HiddenReport& report, const Inputs& inputs) {
  if (inputs.characters.empty() || report.tokens == 0 || !report.finite || !report.neurons[0].reads_out()) return std::nullopt;
  const auto width = static_cast<std::size_t>(hidden.width);
  std::vector<float> strongest(width, -INFINITY);
  std::vector<std::int64_t> behind(width, -1);
  std::vector<double> frequency(static_cast<std::size_t>(inputs.shape.num_classes), 0.0);
  double seen = 0;
  for (std::size_t row = 0; row < hidden.token.size(); ++row) {
    const std::int64_t token = hidden.token[row];
    if ((token + 1) % inputs.length == 0) continue;  // what follows is not in its window
    const std::int64_t next = inputs.tokens[static_cast<std::size_t>(token + 1)];
    ++frequency[static_cast<std::size_t>(next)];
    ++seen;
    for (std::size_t i = 0; i < width; ++i) {
      const float h = hidden.hidden[row * width + i], score = hidden.gated() ? std::abs(h) : h;
      if (score > strongest[i]) {
        strongest[i] = score;
        behind[i] = next;
      }
    }
  }
  Agreement out;
  for (std::size_t i = 0; i < width && seen > 0; ++i) {
    const std::int64_t favourite = report.neurons[i].favourite;
    out.share += favourite == behind[i];
    out.by_chance += frequency[static_cast<std::size_t>(favourite)] / seen;
  }
  out.share /= static_cast<double>(width);
  out.by_chance /= static_cast<double>(width);
  return out;
}

}  // namespace ffn::inspect
