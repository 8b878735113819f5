// The losses: what training minimises, and what an evaluation adds up.
#pragma once

#include "ffn/config/loss.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

struct LossValue {
  Tensor mean;     ///< (R), differentiable: over the scored positions of each run
  Tensor correct;  ///< (R) count: of classes, those whose largest output is the label's; else 0. Of a training step by OwnKernels undefined
  Tensor scored;   ///< (R) count
};

/// outputs: (R, N, width). targets: labels (R, N) int64, negative where a position is not scored, or values (R, N, width).
LossValue compute_loss(const Loss& loss, const Tensor& outputs, const Tensor& targets);

/// 1 where the class is the token's, (…) int64 → (…, classes) of `dtype`. A product with it looks rows up, and its backward
/// pass adds them up in a fixed order, which an index does not on a GPU.
Tensor one_hot(const Tensor& ids, std::int64_t classes, torch::Dtype dtype);

}  // namespace ffn::modules
