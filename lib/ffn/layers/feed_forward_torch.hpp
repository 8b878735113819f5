// The feed-forward layers: plain, gated, mixture of experts. This is what the tool is about; read the formulas here.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/layers/activation_torch.hpp"
#include "ffn/layers/linear_torch.hpp"

namespace ffn::modules {

/// The result of an FFN. Routing facts are returned, not kept: a forward pass leaves nothing behind.
struct FfnOutput {
  Tensor y;                       ///< (R, N, D)
  std::vector<Tensor> auxiliary;  ///< (R) each, differentiable, in the order of auxiliary_losses(): none without a router
  Tensor load;                    ///< (R, E) share of the assignments that each expert got; undefined without a router
};

class FeedForward : public RunModule {
 public:
  using RunModule::RunModule;
  /// x: (R, N, D) → y: (R, N, D), same dtype and device.
  virtual FfnOutput forward(const Tensor& x, const ForwardContext& context) = 0;
  /// After an optimizer step: see Router::update_buffers().
  virtual void update_buffers(const Tensor& /*load*/, const Tensor& /*alive*/) {}
};

/// FFN(x) = φ(x W₁ + b₁) W₂ + b₂, the same at every position.
/// Source: Vaswani et al. 2017, "Attention Is All You Need", eq. 2, arXiv:1706.03762 (φ = ReLU there). Dropout acts on
/// the hidden layer φ(…), which the paper does not do.
/// Parameters: up.weight W₁ (R, D, F), up.bias b₁ (R, F), down.weight W₂ (R, F, D), down.bias b₂ (R, D).
class PositionwiseFeedForwardImpl final : public FeedForward {
 public:
  PositionwiseFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const PositionwiseConfig& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  const Activation& phi_;
  std::uint32_t site_;
  Linear up_{nullptr}, down_{nullptr};
};
TORCH_MODULE(PositionwiseFeedForward);

/// y = (φ(x W_gate + b_gate) ⊙ (x W_up + b_up)) W_down + b_down.
/// Source: Shazeer 2020, "GLU Variants Improve Transformer", eq. 5 and 6, arXiv:2002.05202; φ = SiLU is SwiGLU, GELU
/// GEGLU, ReLU ReGLU, sigmoid GLU (Dauphin et al. 2017), identity Bilinear. The paper has no biases; bias = false gives that.
/// The activated branch is the gate, as in LLaMA; papers differ.
class GatedFeedForwardImpl final : public FeedForward {
 public:
  GatedFeedForwardImpl(std::int64_t num_runs, std::int64_t d_model, const GatedConfig& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  const Activation& phi_;
  std::uint32_t site_;
  Linear gate_{nullptr}, up_{nullptr}, down_{nullptr};
};
using GatedFFNImpl = GatedFeedForwardImpl;
TORCH_MODULE(GatedFFN);

/// y = conv1d(φ(conv1d(x, W₁) + b₁), W₂) + b₂: kernels of width 1 over the positions, "another way of describing" the plain FFN
/// (Vaswani et al. 2017, §3.3).
/// Parameters are those of PositionwiseFeedForward: the kernels are its matrices (D_out, D_in) with one tap, (D_out, D_in, 1).
class Conv1x1Impl final : public FeedForward {
 public:
  Conv1x1Impl(std::int64_t num_runs, std::int64_t d_model, const Conv1x1Config& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  class PointwiseImpl final : public RunModule {
   public:
    PointwiseImpl(std::int64_t num_runs, std::int64_t d_in, std::int64_t d_out, bool bias);
    Tensor forward(const Tensor& x);  ///< (R, D_in, N) → (R, D_out, N)

   private:
    Tensor weight_, bias_;
  };
  TORCH_MODULE(Pointwise);

  const Activation& phi_;
  std::uint32_t site_;
  Pointwise up_{nullptr}, down_{nullptr};
};
TORCH_MODULE(Conv1x1);

/// The FFN of a kind, or nullptr for "none". `site` numbers the layer for its dropout masks.
std::shared_ptr<FeedForward> make_ffn(std::int64_t num_runs, std::int64_t d_model, const FfnConfig& config, std::uint32_t site);

}  // namespace ffn::modules
