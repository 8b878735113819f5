#include "ffn/kernels/isa.hpp"

#include <cstdlib>
#include <string>

#include "ffn/base/error.hpp"
#include "ffn/base/text.hpp"
#include "ffn/kernels/activation_rows.hpp"

namespace ffn {

namespace {

constexpr const char* kVariable = "FFN_ISA";

std::string wanted_isa() {
  const char* given = std::getenv(kVariable);
  return given ? given : "";
}

// The short name of a build: "v3" for "x86-64-v3".
std::string short_name(const std::string& isa) {
  const std::string prefix = "x86-64-";
  return isa.compare(0, prefix.size(), prefix) == 0 ? isa.substr(prefix.size()) : isa;
}

const KernelBuild* build_named(const std::vector<KernelBuild>& builds, const std::string& name) {
  for (const auto& build : builds) {
    if (name == build.isa || name == short_name(build.isa)) return &build;
  }
  return nullptr;
}

}  // namespace

std::vector<KernelBuild> kernel_builds() {
  std::vector<KernelBuild> builds{{"baseline", baseline::kernel_rows, baseline::activation_rows, baseline::run}};
#ifdef FFN_HAVE_X86_LEVELS
  __builtin_cpu_init();  // others ask before main
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
  const bool v3 = __builtin_cpu_supports("x86-64-v3"), v4 = __builtin_cpu_supports("x86-64-v4");
#else
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
#endif
  if (v3) builds.push_back({"x86-64-v3", x86_64_v3::kernel_rows, x86_64_v3::activation_rows, x86_64_v3::run});
  if (v4) builds.push_back({"x86-64-v4", x86_64_v4::kernel_rows, x86_64_v4::activation_rows, x86_64_v4::run});
#endif
  return builds;
}

const KernelBuild& chosen_build() {
  static const KernelBuild chosen = [] {
    const auto builds = kernel_builds();
    const auto* named = build_named(builds, wanted_isa());
    return named ? *named : builds.back();
  }();
  return chosen;
}

void check_chosen_build() {
  const auto wanted = wanted_isa();
  const auto builds = kernel_builds();
  if (wanted.empty() || build_named(builds, wanted)) return;
  std::vector<std::string> names;
  for (const auto& build : builds) names.push_back(short_name(build.isa));
  const std::string given = std::string(kVariable) + "=" + wanted;
  const std::string hint = "here it can be " + join(names, " or ") + "; without it the best of them computes";
  for (const char* known : {"x86-64-v3", "x86-64-v4"}) {
    if (wanted == known || wanted == short_name(known)) throw UsageError(given + ": not on this processor, or not in this build", hint);
  }
  throw UsageError(given + " names no instruction set that ffn-train has kernels for", hint);
}

}  // namespace ffn
