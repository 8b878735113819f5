// The one place where LibTorch versions differ (1.13 to 2.14). Everything that needs LibTorch includes this header.
#pragma once

// The needed part of <torch/torch.h>: the rest (data loaders, optimizers, serialization) takes 7 s more per file.
#include <torch/autograd.h>
#include <torch/cuda.h>
#include <torch/nn/cloneable.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>

#include <functional>
#include <string>
#include <vector>

#define FFN_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace ffn {

/// Sends LibTorch's own warnings to `sink` instead of glog or stderr, for the calling thread and as long as it lives.
void route_torch_warnings(std::function<void(const std::string&)> sink);

/// Algorithms that give the same bits every time, or an error where an operation has none.
void set_deterministic();

/// Whether products and convolutions on a GPU may round their inputs to TensorFloat-32.
void set_tf32(bool allowed);

/// While it lives, products take bfloat16 (LibTorch's autocast): their inputs are rounded, they add up in float32, and what they give is
/// bfloat16. With `lowered` false, none do: for what chooses. Of the calling thread.
class ProductPrecision {
 public:
  ProductPrecision(bool lowered, const torch::Device& device);
  ~ProductPrecision();
  static bool is_lowered(const torch::Device& device);
  ProductPrecision(const ProductPrecision&) = delete;
  ProductPrecision& operator=(const ProductPrecision&) = delete;

 private:
  torch::DeviceType device_;
  bool before_;
};

/// Whether fused_attention() is there.
constexpr bool kHasFusedAttention = FFN_TORCH_AT_LEAST(2, 0);
/// softmax(q kᵀ/√width) v of (N, H, T, width), each row over the places up to its own if `causal`, without a (T, T) tensor.
torch::Tensor fused_attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v, bool causal);

/// Whether fused_adamw() is there.
constexpr bool kHasFusedAdamW = FFN_TORCH_AT_LEAST(2, 6);
/// The inputs of an AdamW update beside its numbers, all tensors of one element in float32.
struct FusedAdamW {
  torch::Tensor rate, step;  ///< the step counts from 1
  torch::Tensor divisor;     ///< of the gradients
  torch::Tensor halted;      ///< 1: nothing moves
  double beta1, beta2, epsilon, weight_decay;
};
/// One kernel over all rows of each list, in place.
void fused_adamw(const std::vector<torch::Tensor>& parameters, const std::vector<torch::Tensor>& gradients,
                 const std::vector<torch::Tensor>& means, const std::vector<torch::Tensor>& squares, const FusedAdamW& update);

/// In float32 at least.
inline torch::Tensor widened(const torch::Tensor& x) { return x.scalar_type() == torch::kBFloat16 ? x.to(torch::kFloat32) : x; }

}  // namespace ffn
