// Which builds of the kernels this processor can run: the one place that asks it.
#pragma once

#include <cstddef>
#include <vector>

#include "ffn/kernels/activations.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn {

/// Builds of the kernels, one per instruction set.
struct KernelBuild {
  const char* isa;  ///< "baseline", or a level of the x86-64 psABI, as far as these differ in what the kernels use
  Kernels (*kernel_rows)();
  std::size_t (*activation_rows)(const Activation** rows);
  void (*run)(const Expression& program, std::size_t n, const float* const* inputs, float* y);  ///< y may be an input
};

/// The builds that run on this processor, the best one last.
std::vector<KernelBuild> kernel_builds();

/// The one that computes: the best, or what FFN_ISA names ("baseline", "v3", "v4"; "x86-64-v3" and so on). It is chosen before
/// main, where an error cannot be caught: an unknown FFN_ISA is ignored here, and main calls check_chosen_build().
const KernelBuild& chosen_build();

/// Throws UsageError if FFN_ISA names no build that runs here.
void check_chosen_build();

/// Its name: "x86-64-v4", "x86-64-v3" or "baseline".
inline const char* kernel_isa() { return chosen_build().isa; }

}  // namespace ffn
