// Which build of the kernels this processor runs.
#pragma once

namespace ffn {

/// The x86-64 levels of the psABI, as far as they differ in what the kernels use.
enum class Isa { baseline, x86_64_v3, x86_64_v4 };
Isa best_isa();

/// "x86-64-v4", "x86-64-v3" or "baseline".
const char* kernel_isa();

}  // namespace ffn
