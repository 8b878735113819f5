// The activation catalogue (kernels/activations) as differentiable functions, and dropout on the run axis.
#pragma once

#include "ffn/kernels/activations.hpp"
#include "ffn/nn/run_module.hpp"

namespace ffn::nn {

/// φ(z), element by element, with its exact derivative; keeps z for the backward pass. float32 or float64, CPU.
Tensor activate(const Activation& phi, const Tensor& z);

/// Zeroes each element of run r with probability context.dropout_rates[r] and scales the others by 1/(1 - rate)
/// (Srivastava et al. 2014, inverted). The mask is a function of the run's dropout seed, `site` (which layer), the step
/// and the element's place in its run. Identity outside training. h: (R, …) → (R, …).
Tensor dropout(const Tensor& h, const ForwardContext& context, std::uint32_t site);

}  // namespace ffn::nn
