// What activation_rows.cpp provides, once per instruction set.
#pragma once

#include "ffn/kernels/activations.hpp"

namespace ffn {
namespace baseline {
std::size_t activation_rows(const Activation** rows);
}
namespace x86_64_v3 {
std::size_t activation_rows(const Activation** rows);
}
namespace x86_64_v4 {
std::size_t activation_rows(const Activation** rows);
}
}  // namespace ffn
