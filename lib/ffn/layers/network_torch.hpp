// The whole model: input → blocks → head.
#pragma once

#include "ffn/config/task_config.hpp"
#include "ffn/layers/block_torch.hpp"

namespace ffn::nn {

struct NetworkOutput {
  Tensor logits;        ///< (R, N, classes)
  Tensor balance_loss;  ///< (R), mean over the blocks that route; undefined when none does
};

/// Tokens enter through an embedding (plus a learned vector per position), vectors through a linear map; the head is a
/// linear map to the classes. With norms before the sub-layers there is one more before the head.
class NetworkImpl final : public RunModule {
 public:
  NetworkImpl(std::int64_t num_runs, const ModelConfig& config, const TaskShape& task);
  /// inputs: (R, B, T) int64 token ids with T up to the task's length, or (R, B, width) float vectors (T = 1).
  NetworkOutput forward(const Tensor& inputs, const ForwardContext& context);

 private:
  Tensor embed(const Tensor& tokens, const ForwardContext& context);

  TaskShape task_;
  Tensor embedding_, position_;  ///< (R, V, D), (R, T, D)
  Linear projection_{nullptr}, head_{nullptr};
  std::vector<Block> blocks_;
  Norm final_norm_{nullptr};
};
TORCH_MODULE(Network);

/// Mean cross-entropy in nats over the scored positions of each run, and how many of them are right.
/// logits: (R, N, classes), labels: (R, N) int64, negative where a position is not scored.
struct Loss {
  Tensor mean;     ///< (R), differentiable
  Tensor correct;  ///< (R) count
  Tensor scored;   ///< (R) count
};
Loss cross_entropy(const Tensor& logits, const Tensor& labels);

}  // namespace ffn::nn
