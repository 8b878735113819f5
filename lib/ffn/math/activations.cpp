#include "ffn/math/activations.hpp"

#include <stdexcept>

#include "ffn/math/activation_rows.hpp"

namespace ffn {
namespace {

struct Build {
  const char* isa;
  std::size_t (*rows)(const Activation**);
};

Build best_build() {
#ifdef FFN_HAVE_X86_LEVELS
  // The features by which the psABI's levels differ and that the kernels use.
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
  if (v4) return {"x86-64-v4", x86_64_v4::activation_rows};
  if (v3) return {"x86-64-v3", x86_64_v3::activation_rows};
#endif
  return {"baseline", baseline::activation_rows};
}

}  // namespace

const std::vector<Activation>& activations() {
  static const std::vector<Activation> catalogue = [] {
    const Activation* rows = nullptr;
    const std::size_t count = best_build().rows(&rows);
    return std::vector<Activation>(rows, rows + count);
  }();
  return catalogue;
}

const Activation& activation(const std::string& name) {
  for (const auto& row : activations()) {
    if (row.name == name) return row;
  }
  throw std::out_of_range("no activation named " + name);
}

const char* kernel_isa() { return best_build().isa; }

}  // namespace ffn
