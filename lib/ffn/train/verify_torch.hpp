// Both engines side by side on one run, LibTorch in float64 as the judge.
#pragma once

#include "ffn/train/learner_torch.hpp"
#include "ffn/train/libtorch.hpp"

namespace ffn {

/// Takes request.steps steps of the run on the cpu engine, and on LibTorch in float32 and in float64. A difference is
/// counted in units of what float32 rounding explains of it: the largest error that LibTorch's own float32 makes in that
/// parameter, from the run's start and from starts that differ from it by a rounding; at least the rounding of the largest
/// weight itself, and for a gradient √N times that of its largest value over the steps, N the batch's tokens, over which it is a
/// sum; for a weight as much of what the steps moved it, or the share of it that such an error is of the element's smallest gradient.
/// A token whose choice of experts lies within so much of a tie can be sent to either one, and what comes after it is not compared:
/// `steps` are those before, of the next seed's run where the first step has one, and of smaller batches where eight seeds' do.
/// Both sides share data, initial weights, dropout masks, activations and the learning rate's schedule: faults in those show
/// elsewhere (tests/kernels, tests/train/test_metrics_torch.cpp).
/// `device`: LibTorch as it trains there, captured steps and padded stack included, takes the cpu engine's place, with every layer that
/// has a module; the judge and the float32 that is taken for right stay on the CPU.
VerifyResult verify_engines(const RunConfig& config, const VerifyRequest& request, const TorchOptions* device = nullptr);

}  // namespace ffn
