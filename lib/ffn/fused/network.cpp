#include "ffn/fused/network.hpp"

#include <algorithm>

namespace ffn::fused {

Norm::Norm(const Layout& layout, std::int64_t d_model, const NormConfig& config)
    : d_model_(d_model),
      weight_(layout.offset("weight")),
      bias_(layout.has("bias") ? layout.offset("bias") : -1),
      epsilon_(static_cast<float>(config.epsilon)) {}

const float* Norm::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  float* y = pass.arena.floats(rows * d_model_);
  normalised_ = pass.arena.floats(rows * d_model_);
  inverse_ = pass.arena.floats(rows);
  kernels().norm(rows, d_model_, epsilon_, x, pass.parameters + weight_, bias_ < 0 ? nullptr : pass.parameters + bias_, y, normalised_,
                 inverse_);
  return y;
}

const float* Norm::backward(Pass& pass, const float* dy) {
  float* dx = pass.arena.floats(rows_ * d_model_);
  kernels().norm_backward(rows_, d_model_, dy, pass.parameters + weight_, normalised_, inverse_, dx, pass.gradients + weight_,
                          bias_ < 0 ? nullptr : pass.gradients + bias_);
  return dx;
}

Block::Block(const Layout& layout, const ModelConfig& config, std::int64_t sequence_length, std::uint32_t index)
    : d_model_(config.d_model), residual_(config.residual), ffn_(make_feed_forward(layout.in("ffn"), config.d_model, config.ffn, index)) {
  if (config.attention) {
    attention_.emplace(layout.in("attention"), config.d_model, sequence_length, *config.attention);
    around_attention_ = make_sublayer(layout, "attention", config);
  }
  if (ffn_) around_ffn_ = make_sublayer(layout, "ffn", config);
}

Block::SubLayer Block::make_sublayer(const Layout& layout, const std::string& name, const ModelConfig& config) {
  const auto norm = [&](const std::string& suffix) { return Norm(layout.in(name + suffix), config.d_model, config.norm); };
  const auto places = config.norm.places();
  SubLayer sublayer;
  if (places.before) sublayer.before = norm("_norm");
  if (places.on_output) sublayer.on_output = norm("_post_norm");
  if (places.after_sum) sublayer.after_sum = norm("_post_norm");
  return sublayer;
}

// after_sum(x + on_output(f(before(x))))
template <class F>
const float* Block::apply(SubLayer& around, Pass& pass, std::int64_t rows, const float* x, const F& f) {
  const auto maybe = [&](std::optional<Norm>& norm, const float* in) { return norm ? norm->forward(pass, rows, in) : in; };
  const float* y = maybe(around.on_output, f(maybe(around.before, x)));
  if (residual_) {
    float* sum = pass.arena.floats(rows * d_model_);
    kernels().add(rows * d_model_, x, y, sum);
    y = sum;
  }
  return maybe(around.after_sum, y);
}

template <class F>
const float* Block::apply_backward(SubLayer& around, Pass& pass, const float* dy, const F& f) {
  const auto maybe = [&](std::optional<Norm>& norm, const float* dout) { return norm ? norm->backward(pass, dout) : dout; };
  const float* dsum = maybe(around.after_sum, dy);
  const float* dx = maybe(around.before, f(maybe(around.on_output, dsum)));
  if (!residual_) return dx;
  float* both = pass.arena.floats(rows_ * d_model_);
  kernels().add(rows_ * d_model_, dsum, dx, both);
  return both;
}

const float* Block::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  if (attention_) x = apply(around_attention_, pass, rows, x, [&](const float* in) { return attention_->forward(pass, rows, in); });
  if (ffn_) x = apply(around_ffn_, pass, rows, x, [&](const float* in) { return ffn_->forward(pass, rows, in); });
  return x;
}

const float* Block::backward(Pass& pass, const float* dy, float balance_weight) {
  if (ffn_) dy = apply_backward(around_ffn_, pass, dy, [&](const float* d) { return ffn_->backward(pass, d, balance_weight); });
  if (attention_) dy = apply_backward(around_attention_, pass, dy, [&](const float* d) { return attention_->backward(pass, d); });
  return dy;
}

Network::Network(const Layout& layout, const ModelConfig& config, const TaskShape& task)
    : task_(task), d_model_(config.d_model), head_(layout.in("head"), config.d_model, task.num_classes) {
  if (task.tokens) {
    embedding_ = layout.offset("embedding");
    if (layout.has("position")) position_ = layout.offset("position");
  } else {
    projection_.emplace(layout.in("projection"), task.input_width, config.d_model);
  }
  for (std::int64_t b = 0; b < config.blocks; ++b)
    blocks_.emplace_back(layout.in("block" + std::to_string(b)), config, task.sequence_length, static_cast<std::uint32_t>(b));
  adds_ = task.tokens || config.norm.kind != "none";
  if (layout.has("final_norm.weight")) final_norm_.emplace(layout.in("final_norm"), config.d_model, config.norm);
}

const float* Network::embed(Pass& pass, const Examples& examples) {
  const std::int64_t rows = examples.count * examples.sequence_length, d = d_model_;
  if (!examples.tokens) return projection_->forward(pass, rows, examples.vectors);
  float* x = pass.arena.floats(rows * d);
  for (std::int64_t n = 0; n < rows; ++n) {
    const float* word = pass.parameters + embedding_ + examples.tokens[n] * d;
    if (position_ < 0) std::copy_n(word, d, x + n * d);
    else kernels().add(d, word, pass.parameters + position_ + n % examples.sequence_length * d, x + n * d);
  }
  return x;
}

void Network::embed_backward(Pass& pass, const Examples& examples, const float* dx) {
  const std::int64_t rows = examples.count * examples.sequence_length, d = d_model_;
  if (!examples.tokens) {
    projection_->weight_gradient(pass, rows, examples.vectors, dx);
    return;
  }
  for (std::int64_t n = 0; n < rows; ++n) {
    float* word = pass.gradients + embedding_ + examples.tokens[n] * d;
    kernels().add(d, word, dx + n * d, word);
    if (position_ < 0) continue;
    float* position = pass.gradients + position_ + n % examples.sequence_length * d;
    kernels().add(d, position, dx + n * d, position);
  }
}

const float* Network::forward(Pass& pass, const Examples& examples) {
  const std::int64_t rows = examples.count * examples.sequence_length;
  const float* x = embed(pass, examples);
  for (auto& block : blocks_) x = block.forward(pass, rows, x);
  if (final_norm_) x = final_norm_->forward(pass, rows, x);
  features_ = x;
  return head_.forward(pass, rows, x);
}

Network::Loss Network::step(const float* parameters, float* gradients, std::int64_t width, const Examples& examples,
                            const DropoutKey& dropout, double balance_weight) {
  arena_.reset();
  Pass pass{parameters, gradients, arena_, examples.sequence_length, true, dropout.rate, dropout.seed, dropout.step};
  if (adds_) std::fill_n(gradients, width, 0.0f);
  const std::int64_t rows = examples.count * examples.sequence_length;
  const float* logits = forward(pass, examples);
  float* dlogits = arena_.floats(rows * task_.num_classes);
  const auto sums =
      kernels().cross_entropy(rows, task_.num_classes, logits, examples.labels, dlogits, arena_.floats(rows * (task_.num_classes + 2)));
  Loss loss{sums.loss / static_cast<double>(sums.scored), 0};
  const auto count = static_cast<double>(blocks_.size());
  for (const auto& block : blocks_) loss.balance += block.balance_loss() / count;

  head_.weight_gradient(pass, rows, features_, dlogits);
  const float* dx = head_.input_gradient(pass, rows, dlogits);
  if (final_norm_) dx = final_norm_->backward(pass, dx);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block)
    dx = block->backward(pass, dx, static_cast<float>(balance_weight / count));
  embed_backward(pass, examples, dx);
  return loss;
}

CrossEntropySums Network::evaluate(const float* parameters, const Examples& examples) {
  arena_.reset();
  Pass pass{parameters, nullptr, arena_, examples.sequence_length};
  const std::int64_t rows = examples.count * examples.sequence_length;
  const float* logits = forward(pass, examples);
  return kernels().cross_entropy(rows, task_.num_classes, logits, examples.labels, nullptr, arena_.floats(rows * (task_.num_classes + 2)));
}

}  // namespace ffn::fused
