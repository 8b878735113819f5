#include "ffn/layers/network_torch.hpp"

#include "ffn/config/parameters.hpp"

namespace ffn::nn {

NetworkImpl::NetworkImpl(std::int64_t num_runs, const ModelConfig& config, const TaskShape& task) : RunModule(num_runs), task_(task) {
  if (task.tokens) {
    embedding_ = parameter(embedding_parameter("embedding", task.input_width, config.d_model));
    if (config.positions == "learned") position_ = parameter(embedding_parameter("position", task.sequence_length, config.d_model));
  } else {
    projection_ = register_module("projection", Linear(num_runs, task.input_width, config.d_model, /*bias=*/true));
  }
  for (std::int64_t b = 0; b < config.blocks; ++b) {
    blocks_.push_back(
        register_module("block" + std::to_string(b), Block(num_runs, config, task.sequence_length, static_cast<std::uint32_t>(b))));
  }
  if (config.norm.places().at_end) final_norm_ = register_module("final_norm", Norm(num_runs, config.d_model, config.norm));
  head_ = register_module("head", Linear(num_runs, config.d_model, task.num_classes, /*bias=*/true));
}

namespace {

// 1 where the class is the token's, (…) int64 → (…, classes) of `dtype`. A product with it looks rows up, and its backward
// pass adds them up in a fixed order, which an index does not on a GPU.
Tensor one_hot(const Tensor& ids, std::int64_t classes, torch::Dtype dtype) {
  return ids.unsqueeze(-1).eq(torch::arange(classes, ids.options())).to(dtype);
}

}  // namespace

Tensor NetworkImpl::embed(const Tensor& tokens, const ForwardContext& context) {
  const auto runs = tokens.size(0), batch = tokens.size(1), length = tokens.size(2), vocabulary = embedding_.size(1),
             d = embedding_.size(2);
  Tensor x;  // (R, B·T, D)
  if (context.host_free) {
    x = torch::bmm(one_hot(tokens.reshape({runs, batch * length}), vocabulary, embedding_.scalar_type()), embedding_);
  } else {
    // One table of all runs' rows, each run's ids shifted to its part.
    const Tensor shift = torch::arange(runs, tokens.options()).mul_(vocabulary).view({runs, 1, 1});
    x = embedding_.reshape({runs * vocabulary, d}).index_select(0, (tokens + shift).flatten());
  }
  x = x.view({runs, batch, length, d});
  if (position_.defined()) x = x + position_.narrow(1, 0, length).unsqueeze(1);
  return x.reshape({runs, batch * length, d});
}

NetworkOutput NetworkImpl::forward(const Tensor& inputs, const ForwardContext& context) {
  const auto length = task_.tokens ? inputs.size(2) : 1;
  Tensor x = task_.tokens ? embed(inputs, context) : projection_(inputs);
  Tensor balance;
  for (auto& block : blocks_) {
    const FfnOutput out = block(x, length, context);
    x = out.y;
    if (out.balance_loss.defined()) balance = balance.defined() ? balance + out.balance_loss : out.balance_loss;
  }
  if (balance.defined()) balance = balance / static_cast<double>(blocks_.size());
  if (!final_norm_.is_empty()) x = final_norm_(x);
  return {head_(x), balance};
}

Loss cross_entropy(const Tensor& logits, const Tensor& labels) {
  const Tensor scored = labels.ge(0);                                       // (R, N)
  const Tensor is_target = one_hot(labels, logits.size(-1), torch::kBool);  // (R, N, classes), nowhere true where not scored
  // ln Σ eᶻ = max + ln(1 + the others' sum): a loss below the rounding of 1 stays more than 0.
  const Tensor is_largest = one_hot(logits.detach().argmax(-1), logits.size(-1), torch::kBool);
  const Tensor zero = torch::zeros({}, logits.options());
  const auto at = [&](const Tensor& places) { return torch::where(places, logits, zero).sum(-1, /*keepdim=*/true); };  // (R, N, 1)
  const Tensor largest = at(is_largest);
  const Tensor others = torch::where(is_largest, zero, (logits - largest).exp()).sum(-1, /*keepdim=*/true);
  const Tensor scored_mask = scored.unsqueeze(-1);
  const Tensor log_probability = torch::where(scored_mask, at(is_target) - largest - others.log1p(), zero).squeeze(-1);  // (R, N)
  const Tensor count = scored.sum(-1);
  const Tensor mean = -log_probability.sum(-1) / count;
  const Tensor correct = logits.detach().argmax(-1).eq(labels).logical_and(scored).sum(-1);
  return {mean, correct, count};
}

}  // namespace ffn::nn
