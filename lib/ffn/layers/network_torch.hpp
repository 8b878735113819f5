// The whole model: input → blocks → head.
#pragma once

#include "ffn/config/task_config.hpp"
#include "ffn/layers/block_torch.hpp"

namespace ffn::modules {

struct NetworkOutput {
  Tensor outputs;                 ///< (R, N, width): logits of classes, or vectors
  std::vector<Tensor> auxiliary;  ///< (R) each: config/auxiliary_losses(), means over the blocks
  std::vector<Tensor> loads;      ///< FfnOutput::load of each block
};

/// The head of model.tie: y = x Eᵀ + b with the embedding E (R, V, D), and nothing but the bias of its own. x: (R, N, D) → (R, N, V)
class TiedHeadImpl final : public RunModule {
 public:
  TiedHeadImpl(std::int64_t num_runs, std::int64_t d_model, std::int64_t vocabulary);
  Tensor forward(const Tensor& x, const Tensor& embedding);

 private:
  Tensor bias_;
};
TORCH_MODULE(TiedHead);

/// Tokens enter through an embedding (plus a vector per position), vectors through a linear map; the head is a
/// linear map to the outputs. With share_ffn all blocks have the FFN of the first, and norms of their own. With norms before the sub-layers
/// there is one more before the head.
class NetworkImpl final : public RunModule {
 public:
  NetworkImpl(std::int64_t num_runs, const ModelConfig& config, const TaskShape& task);
  /// inputs: (R, B, T) int64 token ids with T up to the task's length, or (R, B, width) float vectors (T = 1).
  NetworkOutput forward(const Tensor& inputs, const ForwardContext& context);
  /// After an optimizer step: see Router::update_buffers().
  void update_buffers(const std::vector<Tensor>& loads, const Tensor& alive);

 private:
  Tensor embed(const Tensor& tokens, const ForwardContext& context);

  TaskShape task_;
  std::string positions_;
  Tensor embedding_, position_;  ///< (R, V, D), (R, T, D)
  Linear projection_{nullptr}, head_{nullptr};
  TiedHead tied_head_{nullptr};  ///< in place of head_
  std::vector<Block> blocks_;
  Norm final_norm_{nullptr};
};
TORCH_MODULE(Network);

}  // namespace ffn::modules
