// FFNs on inputs that a formula gives.
#pragma once

#include "ffn/layers/feed_forward_torch.hpp"

namespace ffn::test {

constexpr std::int64_t kModel = 6;

inline torch::Tensor some_input(std::int64_t runs, std::int64_t tokens) {
  return torch::cos(torch::arange(runs * tokens * kModel, torch::kFloat64) * 0.7).view({runs, tokens, kModel});
}

inline torch::Tensor forward(modules::FeedForward& ffn, const torch::Tensor& x) { return ffn.forward(x, modules::ForwardContext{}).y; }

}  // namespace ffn::test
