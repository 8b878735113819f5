// Benchmarks of this machine: matrix products, feed-forward layers, training steps.
#pragma once

#include "ffn/layers/compat_torch.hpp"
#include "ffn/train/libtorch.hpp"

namespace ffn {

/// Calls `emit` with each result as it is there. Everything that is compared is timed in turns, and medians are given.
/// `device`: of layers of one size.
void run_bench(const BenchRequest& request, const torch::Device& device, const std::function<void(const Measurement&)>& emit);

}  // namespace ffn
