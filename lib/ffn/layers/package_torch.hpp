// The feed-forward layers for programs of others, installed as <ffn/layers.hpp>: find_package(ffn), then the target ffn::layers.
// Only this header is promised from version to version.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace ffn {

/// A feed-forward layer as an ordinary module: `parameters()`, `to(device)`, `train()`, `eval()` and autograd work as in torch::nn.
/// Parameters have a leading dimension of 1: up.weight is (1, D, F). Files have torch.nn.Linear's layout.
class FeedForwardImpl : public torch::nn::Module {
 public:
  /// `config`: the `model.ffn` object of a config as JSON, such as {"kind": "gated", "activation": "silu", "d_ff": 1376, "bias": false};
  /// `ffn-train list keys model.ffn` lists its keys. Weights start from (`seed`, name), as in a run of that seed.
  /// Throws std::runtime_error with every problem of the config.
  FeedForwardImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed = 0);

  /// x: (B, T, D) or (N, D) → the same shape, dtype and device. In training mode each call draws new dropout masks.
  /// Throws c10::Error if the last dimension is not D.
  torch::Tensor forward(const torch::Tensor& x);
  /// The same, and the sum of a mixture's auxiliary losses, weighted as its config says, to be added to the loss: a scalar, 0 without a
  /// router.
  std::pair<torch::Tensor, torch::Tensor> forward_with_loss(const torch::Tensor& x);

  /// Reads the tensors of a safetensors file whose names begin with `prefix`: "block0.ffn." in a run's model.safetensors.
  /// Throws std::runtime_error with every missing, additional or misshapen tensor, and for a damaged file.
  void load(const std::string& path, const std::string& prefix = "");
  /// Writes a safetensors file that load(), Python and ffn-train read. Throws std::runtime_error if it cannot be written.
  void save(const std::string& path, const std::string& prefix = "") const;

 private:
  struct Layer;
  std::shared_ptr<Layer> layer_;
};
TORCH_MODULE(FeedForward);

/// φ(x W₁ + b₁) W₂ + b₂. Vaswani et al. 2017, eq. 2, arXiv:1706.03762.
struct PositionwiseFeedForwardImpl : FeedForwardImpl {
  explicit PositionwiseFeedForwardImpl(std::int64_t d_model, const std::string& config = "{}", std::uint64_t seed = 0);
};
TORCH_MODULE(PositionwiseFeedForward);

/// (φ(x W_gate + b_gate) ⊙ (x W_up + b_up)) W_down + b_down; φ = SiLU gives SwiGLU. Shazeer 2020, eq. 5 and 6, arXiv:2002.05202.
struct GatedFeedForwardImpl : FeedForwardImpl {
  explicit GatedFeedForwardImpl(std::int64_t d_model, const std::string& config = "{}", std::uint64_t seed = 0);
};
TORCH_MODULE(GatedFeedForward);

/// A mixture of experts without dropped tokens. Gale et al. 2022, arXiv:2211.15841.
struct MoEImpl : FeedForwardImpl {
  explicit MoEImpl(std::int64_t d_model, const std::string& config = "{}", std::uint64_t seed = 0);
};
TORCH_MODULE(MoE);

/// A layer in a line: {"formula": "(silu(x @ gate) * (x @ up)) @ down", "parameters": {"gate": ["D", "F"], …}}, or {"name": "swiglu"}.
struct FormulaImpl : FeedForwardImpl {
  FormulaImpl(std::int64_t d_model, const std::string& config, std::uint64_t seed = 0);
};
TORCH_MODULE(Formula);

}  // namespace ffn
