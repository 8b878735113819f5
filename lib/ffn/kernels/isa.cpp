#include "ffn/kernels/isa.hpp"

namespace ffn {

Isa best_isa() {
#ifdef FFN_HAVE_X86_LEVELS
  __builtin_cpu_init();
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
  const bool v3 = __builtin_cpu_supports("x86-64-v3"), v4 = __builtin_cpu_supports("x86-64-v4");
#else
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
#endif
  if (v4) return Isa::x86_64_v4;
  if (v3) return Isa::x86_64_v3;
#endif
  return Isa::baseline;
}

const char* kernel_isa() {
  switch (best_isa()) {
    case Isa::x86_64_v4:
      return "x86-64-v4";
    case Isa::x86_64_v3:
      return "x86-64-v3";
    case Isa::baseline:
      break;
  }
  return "baseline";
}

}  // namespace ffn
