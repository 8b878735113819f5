// The losses by hand: the formulas of layers/loss_torch.hpp with their gradients.
#pragma once

#include "ffn/config/loss.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/layers/pass.hpp"

namespace ffn::cpu {

/// Targets of a batch: `labels` or `values`, by the kind of the loss.
struct Targets {
  const std::int64_t* labels = nullptr;  ///< (rows), negative where a position is not scored
  const float* values = nullptr;         ///< (rows, width)
};

/// How many of the rows are scored.
std::int64_t count_scored(std::int64_t rows, const Targets& targets);

/// outputs: (rows, width). With `doutputs`, writes the gradient of the mean over the scored rows, or over as many as `mean_over` says,
/// of which these are a part.
LossSums compute_loss(const Loss& loss, std::int64_t rows, std::int64_t width, const float* outputs, const Targets& targets,
                      std::int64_t mean_over, float* doutputs, Arena& arena);

}  // namespace ffn::cpu
