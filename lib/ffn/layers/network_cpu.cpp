#include "ffn/layers/network_cpu.hpp"

#include <algorithm>

#include "ffn/config/parameters.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/position_cpu.hpp"
#include "ffn/layers/router_cpu.hpp"

namespace ffn::cpu {

Block::Block(const Declare& declare, const Declare& of_ffn, const ModelConfig& config, std::int64_t sequence_length, std::uint32_t index)
    : d_model_(config.d_model), residual_(config.residual), parallel_(config.parallel), residual_dropout_(config.residual_dropout) {
  if (config.attention) {
    attention_.emplace(declare.in("attention"), config.d_model, sequence_length, *config.attention, config.positions == "rotary");
    around_attention_ = make_sublayer(declare, parallel_ ? "input" : "attention", config, residual_site(index, 0));
  }
  ffn_ = make_feed_forward(of_ffn, config.d_model, config.ffn, index);
  if (parallel_) around_ffn_.site = residual_site(index, 1);  // the one norm is around_attention_.before
  else if (ffn_) around_ffn_ = make_sublayer(declare, "ffn", config, residual_site(index, 1));
}

Block::SubLayer Block::make_sublayer(const Declare& declare, const std::string& name, const ModelConfig& config, std::uint32_t site) {
  const auto norm = [&](const std::string& suffix) { return Norm(declare.in(name + suffix), config.d_model, config.norm); };
  const auto places = config.norm.places();
  SubLayer sublayer;
  sublayer.site = site;
  if (places.before) sublayer.before = norm("_norm");
  if (places.on_output) sublayer.on_output = norm("_post_norm");
  if (places.after_sum) sublayer.after_sum = norm("_post_norm");
  return sublayer;
}

const float* Block::drop(SubLayer& around, Pass& pass, const float* y) const {
  around.mask = nullptr;
  if (!pass.training || residual_dropout_ == 0) return y;
  const std::int64_t n = rows_ * d_model_;
  around.mask = pass.arena.floats(n);
  kernels().dropout_mask(static_cast<std::size_t>(n), residual_dropout_, pass.dropout_seed, around.site,
                         static_cast<std::uint64_t>(pass.step), around.mask, static_cast<std::size_t>(pass.first_row * d_model_));
  float* out = pass.arena.floats(n);
  kernels().multiply(n, y, around.mask, out);
  return out;
}

const float* Block::undrop(const SubLayer& around, Pass& pass, const float* dy) const {
  if (!around.mask) return dy;
  float* dropped = pass.arena.floats(rows_ * d_model_);
  kernels().multiply(rows_ * d_model_, dy, around.mask, dropped);
  return dropped;
}

const float* Block::sum(Pass& pass, const float* a, const float* b) const {
  float* out = pass.arena.floats(rows_ * d_model_);
  kernels().add(rows_ * d_model_, a, b, out);
  return out;
}

// after_sum(x + on_output(dropout(f(before(x)))))
template <class F>
const float* Block::apply(SubLayer& around, Pass& pass, std::int64_t rows, const float* x, const F& f) {
  const auto maybe = [&](std::optional<Norm>& norm, const float* in) { return norm ? norm->forward(pass, rows, in) : in; };
  const float* y = maybe(around.on_output, drop(around, pass, f(maybe(around.before, x))));
  if (residual_) y = sum(pass, x, y);
  return maybe(around.after_sum, y);
}

template <class F>
const float* Block::apply_backward(SubLayer& around, Pass& pass, const float* dy, const F& f) {
  const auto maybe = [&](std::optional<Norm>& norm, const float* dout) { return norm ? norm->backward(pass, dout) : dout; };
  const float* dsum = maybe(around.after_sum, dy);
  const float* dout = undrop(around, pass, maybe(around.on_output, dsum));
  const float* dx = maybe(around.before, f(dout));
  return residual_ ? sum(pass, dsum, dx) : dx;
}

const float* Block::feed(Pass& pass, const float* in) {
  pass.show(Value::ffn_input, rows_, d_model_, in);
  const float* y = ffn_->forward(pass, rows_, in);
  pass.show(Value::ffn_output, rows_, d_model_, y);
  return y;
}

const float* Block::feed_backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) {
  if (!shared_) return ffn_->backward(pass, dy, auxiliary_weights);
  // A layer may write its gradients: into a row of their own, which is added.
  const auto [offset, count] = *shared_;
  Pass own = pass;
  own.gradients = pass.arena.floats(offset + count);
  std::fill_n(own.gradients + offset, count, 0.0f);
  const float* dx = ffn_->backward(own, dy, auxiliary_weights);
  kernels().add(count, pass.gradients + offset, own.gradients + offset, pass.gradients + offset);
  return dx;
}

// y = x + (dropout(attention(in)) + dropout(ffn(in))),   in = norm(x)
const float* Block::forward_in_parallel(Pass& pass, const float* x) {
  auto& norm = around_attention_.before;
  const float* in = norm ? norm->forward(pass, rows_, x) : x;
  const float* y = drop(around_attention_, pass, attention_->forward(pass, rows_, in));
  if (ffn_) y = sum(pass, y, drop(around_ffn_, pass, feed(pass, in)));
  return residual_ ? sum(pass, x, y) : y;
}

// so dx = dy + dnorm(dattention(dy) + dffn(dy))
const float* Block::backward_in_parallel(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) {
  const float* din = attention_->backward(pass, undrop(around_attention_, pass, dy));
  if (ffn_) din = sum(pass, din, feed_backward(pass, undrop(around_ffn_, pass, dy), auxiliary_weights));
  auto& norm = around_attention_.before;
  const float* dx = norm ? norm->backward(pass, din) : din;
  return residual_ ? sum(pass, dy, dx) : dx;
}

const float* Block::forward(Pass& pass, std::int64_t rows, const float* x) {
  rows_ = rows;
  if (parallel_) return forward_in_parallel(pass, x);
  if (attention_) x = apply(around_attention_, pass, rows, x, [&](const float* in) { return attention_->forward(pass, rows, in); });
  if (!ffn_) return x;
  return apply(around_ffn_, pass, rows, x, [&](const float* in) { return feed(pass, in); });
}

const float* Block::backward(Pass& pass, const float* dy, const AuxiliaryValues& auxiliary_weights) {
  if (parallel_) return backward_in_parallel(pass, dy, auxiliary_weights);
  if (ffn_) dy = apply_backward(around_ffn_, pass, dy, [&](const float* d) { return feed_backward(pass, d, auxiliary_weights); });
  if (attention_) dy = apply_backward(around_attention_, pass, dy, [&](const float* d) { return attention_->backward(pass, d); });
  return dy;
}

InputEmbedding::InputEmbedding(const Declare& declare, const ModelConfig& config, const TaskShape& task) : d_model_(config.d_model) {
  if (!task.tokens) {
    projection_.emplace(declare.in("projection"), task.input_width, d_model_, /*bias=*/true);
    return;
  }
  embedding_ = declare(embedding_parameter("embedding", task.input_width, d_model_), Gradient::added_to);
  if (config.positions == "learned")
    position_ = declare(embedding_parameter("position", task.sequence_length, d_model_), Gradient::added_to);
  if (config.positions == "sinusoidal") sinusoids_ = sinusoids(task.sequence_length, d_model_);
}

const float* InputEmbedding::forward(Pass& pass, const Examples& examples) {
  const std::int64_t rows = examples.count * examples.sequence_length, d = d_model_;
  if (projection_) return projection_->forward(pass, rows, examples.vectors);
  const float* embedding = embedding_.in(pass.parameters);
  const float* position = sinusoids_.empty() ? position_.in(pass.parameters) : sinusoids_.data();
  float* x = pass.arena.floats(rows * d);
  for (std::int64_t n = 0; n < rows; ++n) {
    const float* word = embedding + examples.tokens[n] * d;
    if (position) kernels().add(d, word, position + n % examples.sequence_length * d, x + n * d);
    else std::copy_n(word, d, x + n * d);
  }
  return x;
}

void InputEmbedding::backward(Pass& pass, const Examples& examples, const float* dx) {
  const std::int64_t rows = examples.count * examples.sequence_length, d = d_model_;
  if (projection_) {
    projection_->weight_gradient(pass, rows, examples.vectors, dx);
    return;
  }
  const auto add_to = [&](float* gradient, const float* row) { kernels().add(d, gradient, row, gradient); };
  float *dembedding = embedding_.in(pass.gradients), *dposition = position_.in(pass.gradients);
  for (std::int64_t n = 0; n < rows; ++n) {
    add_to(dembedding + examples.tokens[n] * d, dx + n * d);
    if (dposition) add_to(dposition + n % examples.sequence_length * d, dx + n * d);
  }
}

namespace {

std::vector<Block> make_blocks(const Declare& declare, const ModelConfig& config, const TaskShape& task) {
  std::vector<Block> blocks;
  for (std::int64_t b = 0; b < config.blocks; ++b) {
    const Declare own = declare.in("block" + std::to_string(b));
    const Declare of_ffn = config.share_ffn && b > 0 ? declare.in("block0").again() : own;
    blocks.emplace_back(own, of_ffn.in("ffn"), config.of_block(b), task.sequence_length, static_cast<std::uint32_t>(b));
  }
  return blocks;
}

std::optional<Norm> make_final_norm(const Declare& declare, const ModelConfig& config) {
  return config.norm.places().at_end ? std::optional(Norm(declare, config.d_model, config.norm)) : std::nullopt;
}

Linear make_head(const Declare& declare, const ModelConfig& config, const TaskShape& task, Place embedding) {
  return config.tie ? Linear(declare, config.d_model, task.num_classes, /*bias=*/true, embedding)
                    : Linear(declare, config.d_model, task.num_classes, /*bias=*/true);
}

}  // namespace

Network::Network(const ModelConfig& config, const TaskShape& task, const Loss& loss)
    : task_(task),
      loss_(loss),
      embedding_(Declare(declared_), config, task),
      blocks_(make_blocks(Declare(declared_), config, task)),
      final_norm_(make_final_norm(Declare(declared_).in("final_norm"), config)),
      head_(make_head(Declare(declared_).in("head"), config, task, embedding_.table())) {
  if (config.share_ffn) {
    const auto parameters = declared_.share("block0.ffn.");
    for (auto& block : blocks_) block.share_ffn(parameters);
  }
  const auto losses = ffn::auxiliary_losses(config);
  for (std::size_t i = 0; i < losses.size(); ++i) auxiliary_weights_.at(i) = losses[i].weight / static_cast<double>(blocks_.size());
}

const float* Network::forward(Pass& pass, const Examples& examples) {
  const std::int64_t rows = examples.count * examples.sequence_length;
  const float* x = embedding_.forward(pass, examples);
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    if (pass.watcher) pass.watcher->enter_block(static_cast<std::int64_t>(b));
    x = blocks_[b].forward(pass, rows, x);
  }
  if (final_norm_) x = final_norm_->forward(pass, rows, x);
  features_ = x;
  return head_.forward(pass, rows, x);
}

Network::StepLoss Network::step(const float* parameters, float* gradients, const Examples& examples, const DropoutKey& dropout) {
  const auto sums = begin_step(parameters, gradients, examples, dropout, 0, 0);
  const StepLoss loss{sums.loss / static_cast<double>(sums.scored), auxiliary_losses()};
  end_step();
  return loss;
}

LossSums Network::begin_step(const float* parameters, float* gradients, const Examples& part, const DropoutKey& dropout,
                             std::int64_t first_example, std::int64_t scored_of_batch) {
  arena_.reset();
  pass_.emplace(Pass{parameters, gradients, arena_, part.sequence_length, true, dropout.rate, dropout.seed, dropout.step,
                     first_example * part.sequence_length});
  examples_ = part;
  declared_.zero_added(gradients);
  const std::int64_t rows = part.count * part.sequence_length;
  const float* outputs = forward(*pass_, part);
  float* doutputs = arena_.floats(rows * task_.num_classes);
  doutputs_ = doutputs;
  return compute_loss(loss_, rows, task_.num_classes, outputs, part.targets, scored_of_batch, doutputs, arena_);
}

void Network::end_step() {
  const std::int64_t rows = examples_.count * examples_.sequence_length;
  // Only the next block reads what a backward pass writes.
  std::size_t turn = 0;
  const auto next_pass = [&] {
    Arena& arena = backward_arenas_[turn++ % 2];
    arena.reset();
    return pass_->with(arena);
  };
  Pass pass = next_pass();
  head_.weight_gradient(pass, rows, features_, doutputs_);
  const float* dx = head_.input_gradient(pass, rows, doutputs_);
  if (final_norm_) dx = final_norm_->backward(pass, dx);
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    Pass own = next_pass();
    dx = block->backward(own, dx, auxiliary_weights_);
  }
  embedding_.backward(pass, examples_, dx);
}

std::vector<Router*> Network::routers() {
  std::vector<Router*> all;
  for (auto& block : blocks_) {
    if (auto* router = block.router()) all.push_back(router);
  }
  return all;
}

AuxiliaryValues Network::auxiliary_losses() {
  AuxiliaryValues mean = {};
  for (auto& block : blocks_) {
    const auto* router = block.router();
    if (!router) continue;
    const auto values = router->auxiliary_losses();
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += values[i] / static_cast<double>(blocks_.size());
  }
  return mean;
}

const float* Network::logits(const float* parameters, const Examples& examples, Watcher* watcher) {
  arena_.reset();
  Pass pass{parameters, nullptr, arena_, examples.sequence_length};
  pass.watcher = watcher;
  return forward(pass, examples);
}

LossSums Network::evaluate(const float* parameters, const Examples& examples) {
  const float* outputs = logits(parameters, examples);
  const std::int64_t rows = examples.count * examples.sequence_length;
  const auto measured = [&](const Loss& loss) {
    return compute_loss(loss, rows, task_.num_classes, outputs, examples.targets, 0, nullptr, arena_);
  };
  LossSums sums = measured(measured_loss(loss_));
  if (task_.target == Target::vectors) sums.squared_error = measured(MeanSquaredError()).loss;
  else add_output_metrics(rows, task_.num_classes, outputs, examples.targets.labels, sums);
  return sums;
}

}  // namespace ffn::cpu
