#include "ffn/kernels/isa.hpp"

#include "ffn/kernels/activation_rows.hpp"

namespace ffn {

std::vector<KernelBuild> kernel_builds() {
  std::vector<KernelBuild> builds{{"baseline", baseline::kernel_rows, baseline::activation_rows}};
#ifdef FFN_HAVE_X86_LEVELS
  __builtin_cpu_init();  // others ask before main
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
  const bool v3 = __builtin_cpu_supports("x86-64-v3"), v4 = __builtin_cpu_supports("x86-64-v4");
#else
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
#endif
  if (v3) builds.push_back({"x86-64-v3", x86_64_v3::kernel_rows, x86_64_v3::activation_rows});
  if (v4) builds.push_back({"x86-64-v4", x86_64_v4::kernel_rows, x86_64_v4::activation_rows});
#endif
  return builds;
}

}  // namespace ffn
