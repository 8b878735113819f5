#include "ffn/layers/network_torch.hpp"

#include "ffn/config/parameters.hpp"
#include "ffn/layers/loss_torch.hpp"
#include "ffn/layers/position_torch.hpp"

namespace ffn::modules {

TiedHeadImpl::TiedHeadImpl(std::int64_t num_runs, std::int64_t d_model, std::int64_t vocabulary)
    : RunModule(num_runs), bias_(parameter(linear_parameters(d_model, vocabulary, /*bias=*/true).bias)) {}

Tensor TiedHeadImpl::forward(const Tensor& x, const Tensor& embedding) {
  return torch::baddbmm(bias_.unsqueeze(1), x, embedding.transpose(1, 2));
}

NetworkImpl::NetworkImpl(std::int64_t num_runs, const ModelConfig& config, const TaskShape& task)
    : RunModule(num_runs), task_(task), positions_(config.positions) {
  if (task.tokens) {
    embedding_ = parameter(embedding_parameter("embedding", task.input_width, config.d_model));
    if (config.positions == "learned") position_ = parameter(embedding_parameter("position", task.sequence_length, config.d_model));
  } else {
    projection_ = register_module("projection", Linear(num_runs, task.input_width, config.d_model, /*bias=*/true));
  }
  for (std::int64_t b = 0; b < config.blocks; ++b) {
    const auto shared = config.share_ffn && b > 0 ? blocks_[0]->feed_forward() : nullptr;
    blocks_.push_back(register_module("block" + std::to_string(b),
                                      Block(num_runs, config.of_block(b), task.sequence_length, static_cast<std::uint32_t>(b), shared)));
  }
  if (config.norm.places().at_end) final_norm_ = register_module("final_norm", Norm(num_runs, config.d_model, config.norm));
  if (config.tie) tied_head_ = register_module("head", TiedHead(num_runs, config.d_model, task.num_classes));
  else head_ = register_module("head", Linear(num_runs, config.d_model, task.num_classes, /*bias=*/true));
}

Tensor NetworkImpl::embed(const Tensor& tokens, const ForwardContext& context) {
  const auto runs = tokens.size(0), batch = tokens.size(1), length = tokens.size(2), vocabulary = embedding_.size(1),
             d = embedding_.size(2);
  Tensor x;                                // (R, B·T, D)
  constexpr std::int64_t kManyRows = 512;  // from here on the index's backward pass, which sorts the tokens, is less work than a product
  if (context.host_free && !(OwnKernels::wanted() && vocabulary >= kManyRows)) {
    x = torch::bmm(one_hot(tokens.reshape({runs, batch * length}), vocabulary, embedding_.scalar_type()), embedding_);
  } else {
    // One table of all runs' rows, each run's ids shifted to its part.
    const Tensor shift = torch::arange(runs, tokens.options()).mul_(vocabulary).view({runs, 1, 1});
    x = embedding_.reshape({runs * vocabulary, d}).index_select(0, (tokens + shift).flatten());
  }
  x = x.view({runs, batch, length, d});
  if (position_.defined()) x = x + position_.narrow(1, 0, length).unsqueeze(1);
  if (positions_ == "sinusoidal") x = x + sinusoids(length, d, x);
  return x.reshape({runs, batch * length, d});
}

NetworkOutput NetworkImpl::forward(const Tensor& inputs, const ForwardContext& given) {
  ForwardContext context = given;
  const auto length = context.sequence_length = task_.tokens ? inputs.size(2) : 1;
  Tensor x = task_.tokens ? embed(inputs, context) : widened(projection_(inputs));
  NetworkOutput network;
  for (auto& block : blocks_) {
    FfnOutput out = block(x, length, context);
    x = out.y;
    for (std::size_t i = 0; i < out.auxiliary.size(); ++i) {
      if (i < network.auxiliary.size()) network.auxiliary[i] = network.auxiliary[i] + out.auxiliary[i];
      else network.auxiliary.push_back(out.auxiliary[i]);
    }
    network.loads.push_back(out.load);
  }
  for (auto& loss : network.auxiliary) loss = loss / static_cast<double>(blocks_.size());
  if (!final_norm_.is_empty()) x = final_norm_(x);
  network.outputs = widened(head_.is_empty() ? tied_head_(x, embedding_) : head_(x));
  return network;
}

void NetworkImpl::update_buffers(const std::vector<Tensor>& loads, const Tensor& alive) {
  const bool shared = blocks_.size() > 1 && blocks_[0]->feed_forward() &&
                      blocks_[0]->feed_forward() == blocks_[1]->feed_forward();  // one router moves once
  if (shared && loads[0].defined()) return blocks_[0]->update_buffers(torch::stack(loads).mean(0), alive);
  for (std::size_t b = 0; b < blocks_.size(); ++b) blocks_[b]->update_buffers(loads[b], alive);
}

}  // namespace ffn::modules
