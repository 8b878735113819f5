// The kernels of every instruction set that this processor has, and values to try them on.
#pragma once

#include <cstdint>
#include <vector>

#include "ffn/base/random.hpp"
#include "ffn/kernels/isa.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::test {

struct Build {
  const char* name;
  Kernels kernels;
};

inline std::vector<Build> builds() {
  std::vector<Build> out;
  for (const auto& build : kernel_builds()) out.push_back({build.isa, build.kernel_rows()});
  return out;
}

inline std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
  RandomStream random(seed, 0);
  std::vector<float> out(n);
  for (auto& x : out) x = static_cast<float>(random.uniform(-1, 1));
  return out;
}

}  // namespace ffn::test
