// The activation catalogue (kernels/activations) as differentiable functions, and dropout on the run axis.
#pragma once

#include "ffn/formula/formula.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

/// φ(z), element by element, with its exact derivative; keeps z for the backward pass. float32 or float64. By the
/// catalogue's kernels, or, where the context is host_free, by the same rows recorded as tensor operations.
/// For a layer's σ, tanh and the like, too: LibTorch's own sigmoid gives an element other bits at another place of the tensor
/// (vector or tail), so that a run would depend on its neighbours.
Tensor activate(const Activation& phi, const Tensor& z, const ForwardContext& context);

/// A recorded formula of tensors of one shape with LibTorch's operations: any device, any precision. Autograd sees none of it.
torch::Tensor evaluate_at(const Expression& formula, const std::vector<torch::Tensor>& inputs);

/// A function of formulas of tensors of one shape, element by element, likewise. The call has to outlive the graph.
Tensor call(const FunctionCall& function, std::vector<Tensor> inputs, const ForwardContext& context);

/// Zeroes each element of run r with probability context.rates[r] and scales the others by 1/(1 - rate)
/// (Srivastava et al. 2014, inverted). The mask is a function of the run's dropout seed, `site` (which layer), the step
/// and the element's place in its run. Identity outside training. h: (R, …) → (R, …).
Tensor dropout(const Tensor& h, const ForwardContext& context, std::uint32_t site);
/// The same with one rate for all runs, in place of the context's.
Tensor dropout(const Tensor& h, const ForwardContext& context, std::uint32_t site, double rate);

/// The mask of dropout() for a tensor of this shape (R, …): 0 or 1/(1 - rate). Of the dtype of `like`.
Tensor dropout_mask(const Tensor& like, const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape);

/// Philox4x32-10 (base/random.hpp) as tensor operations: words (R, blocks, 4) of the counters (block, site, step) under the seeds (R);
/// step: (1) or (R, 1). All int64.
Tensor philox_words(const Tensor& seeds, std::int64_t blocks, std::uint32_t site, const Tensor& step);

/// Draws of shape (R, …), functions of the run's dropout seed, `site`, the step and the element's place in its run: uniform on [0, 1),
/// standard normal.
Tensor uniform_draws(const Tensor& like, const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape);
Tensor normal_draws(const Tensor& like, const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape);

}  // namespace ffn::modules
