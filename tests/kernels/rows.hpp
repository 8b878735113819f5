// One value through a row of the activation catalogue, and the catalogue of every instruction set.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ffn/kernels/activation_rows.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn::test {

inline double value(const Activation& row, double z) {
  double y = 0;
  row.forward64(1, &z, &y);
  return y;
}
inline double slope(const Activation& row, double z) {
  const double one = 1;
  double dz = 0;
  row.backward64(1, &z, &one, &dz);
  return dz;
}
inline float value_f(const Activation& row, float z) {
  float y = 0;
  row.forward(1, &z, &y);
  return y;
}
inline float slope_f(const Activation& row, float z, float dy = 1) {
  float dz = 0;
  row.backward(1, &z, &dy, &dz);
  return dz;
}

/// The catalogue as compiled for each instruction set that this processor has.
inline std::map<std::string, std::vector<Activation>> builds() {
  std::map<std::string, std::vector<Activation>> out;
  const auto add = [&](const char* isa, std::size_t (*rows)(const Activation**)) {
    const Activation* first = nullptr;
    const std::size_t count = rows(&first);
    out[isa].assign(first, first + count);
  };
  add("baseline", baseline::activation_rows);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add("x86-64-v3", x86_64_v3::activation_rows);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    add("x86-64-v4", x86_64_v4::activation_rows);
#endif
  return out;
}

}  // namespace ffn::test
