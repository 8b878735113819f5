#include "ffn/kernels/activations.hpp"

#include <stdexcept>

#include "ffn/kernels/isa.hpp"

namespace ffn {

const std::vector<Activation>& activations() {
  static const std::vector<Activation> catalogue = [] {
    const Activation* rows = nullptr;
    const std::size_t count = chosen_build().activation_rows(&rows);
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
