// Muon's step on one matrix, in float32. Torch-free; train/optimizer_torch.hpp has it as tensor operations.
#pragma once

#include <cstdint>

#include "ffn/config/train_config.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn {

/// u/(‖u‖ + 1e-7), then five times X ← (aI + bA + cA²)X with A = XXᵀ of the shorter side; singular values end between 0.68 and 1.2.
constexpr double kNewtonSchulz[] = {3.4445, -4.7750, 2.0315};  // Jordan et al. 2024, https://kellerjordan.github.io/posts/muon
constexpr int kNewtonSchulzSteps = 5;
constexpr double kNewtonSchulzEpsilon = 1e-7;

/// x (rows, columns) in place.
void orthogonalise(std::int64_t rows, std::int64_t columns, float* x);

struct MuonStep {
  const MuonConfig* config;
  AdamStep adam;           ///< of all other parameters
  double rate;             ///< of the matrices, scaling left out
  float keep, grad_scale;  ///< as AdamStep's
};
/// p (D_in, D_out) by its gradient; `mean` is m. See MuonConfig.
void muon_step(std::int64_t d_in, std::int64_t d_out, const MuonStep& s, const float* grad, float* param, float* mean);

}  // namespace ffn
