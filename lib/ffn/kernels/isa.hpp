// Which builds of the kernels this processor can run: the one place that asks it.
#pragma once

#include <cstddef>
#include <vector>

#include "ffn/kernels/activations.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn {

/// What is compiled once per instruction set.
struct KernelBuild {
  const char* isa;  ///< "baseline", or a level of the x86-64 psABI, as far as these differ in what the kernels use
  Kernels (*kernel_rows)();
  std::size_t (*activation_rows)(const Activation** rows);
};

/// Those that run here, the best one last.
std::vector<KernelBuild> kernel_builds();

/// The best one.
inline KernelBuild best_build() { return kernel_builds().back(); }

/// Its name: "x86-64-v4", "x86-64-v3" or "baseline".
inline const char* kernel_isa() { return best_build().isa; }

}  // namespace ffn
