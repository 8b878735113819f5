#include "ffn/inspect/capture.hpp"

#include <algorithm>
#include <cmath>

namespace ffn::inspect {

namespace {

void append(std::vector<float>& to, const float* from, std::int64_t count) { to.insert(to.end(), from, from + count); }

std::vector<float> HiddenRows::*member_of(cpu::Value what) {
  switch (what) {
    case cpu::Value::pre_activation:
      return &HiddenRows::pre_activation;
    case cpu::Value::gate:
      return &HiddenRows::gate;
    case cpu::Value::up:
      return &HiddenRows::up;
    default:
      return &HiddenRows::hidden;
  }
}

class Capture final : public cpu::Watcher {
 public:
  Capture(const ModelConfig& model, bool with_ends)
      : heads_(model.attention ? model.attention->heads : 0), with_ends_(with_ends), blocks_(static_cast<std::size_t>(model.blocks)) {}

  /// The next pass is over the examples from this one on.
  void begin(std::int64_t first_token) { first_token_ = first_token; }
  std::vector<BlockValues> finish();

  void enter_block(std::int64_t block) override {
    at_ = &blocks_[static_cast<std::size_t>(block)];
    rows_of_experts_.clear();
  }
  void see(cpu::Value what, std::int64_t rows, std::int64_t width, const float* values) override;
  void see_routing(const cpu::RoutedTokens& routed) override;

 private:
  void see_attention(std::int64_t rows, std::int64_t length, const float* weights);
  void see_hidden(cpu::Value what, std::int64_t rows, std::int64_t width, const float* values);

  std::int64_t heads_;
  bool with_ends_;
  std::vector<BlockValues> blocks_;
  std::int64_t first_token_ = 0;
  BlockValues* at_ = nullptr;
  /// First row of each expert in the hidden layer of the current mixture, (E + 1).
  std::vector<std::int64_t> rows_of_experts_;
  std::vector<double> maps_;  ///< attention maps summed so far, by block
};

void Capture::see(cpu::Value what, std::int64_t rows, std::int64_t width, const float* values) {
  switch (what) {
    case cpu::Value::attention:
      return see_attention(rows, width, values);
    case cpu::Value::ffn_input:
      if (with_ends_) append(at_->input, values, rows * width);
      return;
    case cpu::Value::ffn_output:
      if (with_ends_) append(at_->output, values, rows * width);
      return;
    default:
      see_hidden(what, rows, width, values);
  }
}

void Capture::see_hidden(cpu::Value what, std::int64_t rows, std::int64_t width, const float* values) {
  const bool mixture = !rows_of_experts_.empty();
  at_->hidden.resize(mixture ? rows_of_experts_.size() - 1 : 1);
  for (std::size_t e = 0; e < at_->hidden.size(); ++e) {
    auto& to = at_->hidden[e];
    const std::int64_t begin = mixture ? rows_of_experts_[e] : 0, end = mixture ? rows_of_experts_[e + 1] : rows;
    to.width = width;
    append(to.*member_of(what), values + begin * width, (end - begin) * width);
    if (mixture || what != cpu::Value::hidden) continue;
    for (std::int64_t n = 0; n < rows; ++n) to.token.push_back(first_token_ + n);
  }
}

// Pairs are sorted by expert, and of one expert by token.
void Capture::see_routing(const cpu::RoutedTokens& routed) {
  auto& kept = at_->routed;
  const std::int64_t pairs = routed.num_tokens * routed.top_k;
  kept.num_experts = routed.num_experts;
  kept.top_k = routed.top_k;
  append(kept.probability, routed.probability, routed.num_tokens * routed.num_experts);
  append(kept.weight, routed.weight, pairs);
  kept.expert.insert(kept.expert.end(), routed.expert, routed.expert + pairs);
  at_->hidden.resize(static_cast<std::size_t>(routed.num_experts));
  rows_of_experts_.assign(static_cast<std::size_t>(routed.num_experts + 1), 0);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const auto e = static_cast<std::size_t>(routed.expert[i]);
    ++rows_of_experts_[e + 1];
    at_->hidden[e].token.push_back(first_token_ + i / routed.top_k);
  }
  for (std::size_t e = 1; e < rows_of_experts_.size(); ++e) rows_of_experts_[e] += rows_of_experts_[e - 1];
}

// weights: (maps, H, T, T), one map for all examples where they go by position.
void Capture::see_attention(std::int64_t rows, std::int64_t length, const float* weights) {
  auto& kept = at_->attention;
  const std::int64_t square = length * length, maps = rows / (heads_ * length);
  if (kept.heads == 0) {
    kept.heads = heads_;
    kept.length = length;
    kept.mean.assign(static_cast<std::size_t>(heads_ * square), 0);
    kept.entropy.assign(static_cast<std::size_t>(heads_), 0);
  }
  maps_.resize(blocks_.size());
  maps_[static_cast<std::size_t>(at_ - blocks_.data())] += static_cast<double>(maps);
  for (std::int64_t m = 0; m < maps; ++m) {
    for (std::int64_t h = 0; h < heads_; ++h) {
      const float* map = weights + (m * heads_ + h) * square;
      double entropy = 0;
      for (std::int64_t i = 0; i < square; ++i) {
        const auto p = static_cast<double>(map[i]);
        kept.mean[static_cast<std::size_t>(h * square + i)] += p;
        if (p > 0) entropy -= p * std::log(p);
      }
      kept.entropy[static_cast<std::size_t>(h)] += entropy / static_cast<double>(length);
    }
  }
}

std::vector<BlockValues> Capture::finish() {
  for (std::size_t b = 0; b < maps_.size(); ++b) {
    for (auto& value : blocks_[b].attention.mean) value /= maps_[b];
    for (auto& value : blocks_[b].attention.entropy) value /= maps_[b];
  }
  // Experts that do not end in a product have rows, and no hidden layer.
  for (auto& block : blocks_) {
    if (std::all_of(block.hidden.begin(), block.hidden.end(), [](const HiddenRows& rows) { return rows.hidden.empty(); }))
      block.hidden.clear();
  }
  return std::move(blocks_);
}

}  // namespace

std::vector<BlockValues> capture(const ModelConfig& model, cpu::Network& network, const float* parameters, const Inputs& inputs,
                                 bool with_ends) {
  constexpr std::int64_t kTokensAtOnce = 4096;  // bounds memory
  const std::int64_t chunk = std::max<std::int64_t>(1, kTokensAtOnce / inputs.length);
  Capture seen(model, with_ends);
  for (std::int64_t first = 0; first < inputs.count; first += chunk) {
    seen.begin(first * inputs.length);
    network.logits(parameters, inputs.examples(first, std::min(chunk, inputs.count - first)), &seen);
  }
  return seen.finish();
}

}  // namespace ffn::inspect
