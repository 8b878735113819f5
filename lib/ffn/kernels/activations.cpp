#include "ffn/kernels/activations.hpp"

#include <stdexcept>

#include "ffn/kernels/activation_rows.hpp"
#include "ffn/kernels/isa.hpp"

namespace ffn {
namespace {

std::size_t best_rows(const Activation** rows) {
#ifdef FFN_HAVE_X86_LEVELS
  if (best_isa() == Isa::x86_64_v4) return x86_64_v4::activation_rows(rows);
  if (best_isa() == Isa::x86_64_v3) return x86_64_v3::activation_rows(rows);
#endif
  return baseline::activation_rows(rows);
}

}  // namespace

const std::vector<Activation>& activations() {
  static const std::vector<Activation> catalogue = [] {
    const Activation* rows = nullptr;
    const std::size_t count = best_rows(&rows);
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

}  // namespace ffn
