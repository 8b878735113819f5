#include "ffn/train/layer_meter.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ffn/kernels/spectrum.hpp"

namespace ffn {

namespace {

constexpr std::int64_t kMostTokens = 4096;     // bounds time and memory
constexpr std::int64_t kMostRankTokens = 256;  // the work grows with their cube

double entropy_term(double p) { return p > 0 ? -p * std::log(p) : 0; }

// The output of one hidden layer, or of one expert's: (rows, width).
struct Part {
  std::int64_t width = 0;
  std::vector<float> hidden;
};

class Watch final : public cpu::Watcher {
 public:
  Watch(std::int64_t num_blocks, const std::vector<std::int64_t>& groups) : blocks(static_cast<std::size_t>(num_blocks)), groups_(groups) {}

  struct Block {
    std::vector<Part> parts;           ///< one; in a mixture one per expert
    std::vector<std::int64_t> routed;  ///< tokens of each expert, none without a mixture
    double token_entropy = 0, purity = 0;
  };
  std::vector<Block> blocks;

  void enter_block(std::int64_t block) override { at_ = &blocks[static_cast<std::size_t>(block)]; }

  void see(cpu::Value what, std::int64_t rows, std::int64_t width, const float* values) override {
    if (what != cpu::Value::hidden) return;
    if (at_->routed.empty()) at_->parts = {{width, {values, values + rows * width}}};
    else {
      for (const auto count : at_->routed) {
        at_->parts.push_back({width, {values, values + count * width}});
        values += count * width;
      }
    }
  }

  void see_routing(const cpu::RoutedTokens& routed) override {
    at_->routed.assign(static_cast<std::size_t>(routed.num_experts), 0);
    for (std::int64_t i = 0; i < routed.num_tokens * routed.top_k; ++i) ++at_->routed[static_cast<std::size_t>(routed.expert[i])];
    at_->token_entropy = 0;
    for (std::int64_t i = 0; i < routed.num_tokens * routed.num_experts; ++i)
      at_->token_entropy += entropy_term(static_cast<double>(routed.probability[i])) / static_cast<double>(routed.num_tokens);
    at_->purity = groups_.empty() ? 0 : purity(routed);
  }

 private:
  double purity(const cpu::RoutedTokens& routed) const {
    std::vector<std::map<std::int64_t, std::int64_t>> tokens(static_cast<std::size_t>(routed.num_experts));  // of each group
    const std::int64_t all = routed.num_tokens * routed.top_k;
    for (std::int64_t i = 0; i < all; ++i)
      ++tokens[static_cast<std::size_t>(routed.expert[i])][groups_[static_cast<std::size_t>(i / routed.top_k)]];
    std::int64_t of_most_frequent = 0;
    for (const auto& of_expert : tokens) {
      std::int64_t most = 0;
      for (const auto& [group, count] : of_expert) most = std::max(most, count);
      of_most_frequent += most;
    }
    return static_cast<double>(of_most_frequent) / static_cast<double>(all);
  }

  const std::vector<std::int64_t>& groups_;
  Block* at_ = nullptr;
};

double rank_of(const Part& part) {
  const auto rows = static_cast<std::int64_t>(part.hidden.size()) / part.width, used = std::min(rows, kMostRankTokens);
  std::vector<float> some;
  for (const auto drawn : drawn_rows(rows, used)) {
    const auto row = part.hidden.begin() + static_cast<std::ptrdiff_t>(drawn * part.width);
    some.insert(some.end(), row, row + static_cast<std::ptrdiff_t>(part.width));
  }
  return effective_rank(singular_values(some.data(), used, part.width));
}

void measure_hidden(const std::vector<Part>& parts, LayerValues& out) {
  double squares = 0, activations = 0, units = 0;
  for (const auto& part : parts) {
    for (const float h : part.hidden) squares += static_cast<double>(h) * static_cast<double>(h);
    activations += static_cast<double>(part.hidden.size());
    units += static_cast<double>(part.width);
  }
  if (activations == 0) return;
  const auto limit = static_cast<float>(kNearZero * std::sqrt(squares / activations));
  const auto near_zero = [&](float h) { return std::abs(h) < limit || h == 0; };
  double zeros = 0, near_zeros = 0, dead = 0, ranks = 0, ranked = 0;
  for (const auto& part : parts) {
    std::vector<char> alive(static_cast<std::size_t>(part.width), 0);  // an expert that nothing was sent to has no live unit
    for (std::size_t i = 0; i < part.hidden.size(); ++i) {
      const bool near = near_zero(part.hidden[i]);
      zeros += part.hidden[i] == 0;
      near_zeros += near;
      if (!near) alive[i % alive.size()] = 1;
    }
    dead += static_cast<double>(std::count(alive.begin(), alive.end(), 0));
    if (!part.hidden.empty()) {
      ranks += rank_of(part);
      ++ranked;
    }
  }
  out.zero_fraction = zeros / activations;
  out.near_zero_fraction = near_zeros / activations;
  out.dead_units = dead / units;
  out.effective_rank = ranks / ranked;
}

void measure_routing(const std::vector<std::int64_t>& tokens, LayerValues& out) {
  double all = 0, busiest = 0;
  for (const auto count : tokens) {
    all += static_cast<double>(count);
    busiest = std::max(busiest, static_cast<double>(count));
  }
  if (all == 0) return;
  for (const auto count : tokens) {
    out.load_entropy += entropy_term(static_cast<double>(count) / all);
    out.dead_experts += (count == 0) / static_cast<double>(tokens.size());
  }
  out.max_violation = busiest * static_cast<double>(tokens.size()) / all - 1;
}

}  // namespace

LayerMeter::LayerMeter(const ModelConfig& model, const TaskShape& shape, const ExampleSet& validation)
    : num_blocks_(model.blocks),
      shape_(shape),
      network_(model, shape),
      count_(std::min(validation.count, std::max<std::int64_t>(1, kMostTokens / shape.sequence_length))) {
  for (std::int64_t b = 0; b < model.blocks; ++b) has_layer_.push_back(!std::holds_alternative<NoFfnConfig>(model.of_block(b).ffn));
  const auto length = shape.sequence_length, width = shape.tokens ? length : shape.input_width;
  const auto all = static_cast<std::int64_t>(shape.tokens ? validation.tokens.size() : validation.vectors.size()) / width;
  for (std::int64_t first = 0; first < all; first += validation.count) {
    Tokens shown;
    for (std::int64_t i = 0; i < count_; ++i) {  // spread evenly
      const auto at = (first + i * validation.count / count_) * width;
      if (shape.tokens) shown.tokens.insert(shown.tokens.end(), validation.tokens.begin() + at, validation.tokens.begin() + at + width);
      else shown.vectors.insert(shown.vectors.end(), validation.vectors.begin() + at, validation.vectors.begin() + at + width);
      if (!validation.groups.empty()) shown.groups.push_back(validation.groups[static_cast<std::size_t>(at / width)]);
    }
    shown_.push_back(std::move(shown));
  }
}

LayerValues mean_of(const std::vector<LayerValues>& blocks) {
  constexpr double LayerValues::*kMembers[] = {&LayerValues::zero_fraction,  &LayerValues::near_zero_fraction, &LayerValues::dead_units,
                                               &LayerValues::effective_rank, &LayerValues::max_violation,      &LayerValues::load_entropy,
                                               &LayerValues::token_entropy,  &LayerValues::dead_experts,       &LayerValues::purity};
  LayerValues mean;
  const auto count = std::count_if(blocks.begin(), blocks.end(), [](const LayerValues& block) { return block.has_layer; });
  for (const auto& block : blocks) {
    for (const auto member : kMembers) mean.*member += block.has_layer ? block.*member / static_cast<double>(count) : 0;
  }
  return mean;
}

std::vector<LayerValues> LayerMeter::measure(std::size_t run, const float* parameters) {
  const Tokens& shown = shown_.at(shown_.size() == 1 ? 0 : run);
  cpu::Examples examples{count_, shape_.sequence_length};
  if (shape_.tokens) examples.tokens = shown.tokens.data();
  else examples.vectors = shown.vectors.data();
  Watch watch(num_blocks_, shown.groups);
  network_.logits(parameters, examples, &watch);
  std::vector<LayerValues> out(watch.blocks.size());
  for (std::size_t b = 0; b < out.size(); ++b) {
    out[b].has_layer = has_layer_[b];
    measure_hidden(watch.blocks[b].parts, out[b]);
    measure_routing(watch.blocks[b].routed, out[b]);
    out[b].token_entropy = watch.blocks[b].token_entropy;
    out[b].purity = watch.blocks[b].purity;
  }
  return out;
}

}  // namespace ffn
