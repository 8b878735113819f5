// A network's parameters by name, for the tests of starts and of weight files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cases.hpp"
#include "ffn/layers/network_cpu.hpp"
#include "support/catch_plain.hpp"

namespace ffn::test {

inline bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
inline bool is_norm(const std::string& name) { return name.find("norm.") != std::string::npos; }

inline RowLayout layout_of(const RunConfig& config) { return cpu::Network(config.model, task_shape(config.task)).layout(); }

/// Parameters of formulas have names of their own: dimensions tell matrices from vectors, whose starts formulas give
/// (config/test_formula.cpp).
inline bool is_of_formula(const RowEntry& entry) {
  return entry.name.find(".ffn.") != std::string::npos && !ends_with(entry.name, ".weight") && !ends_with(entry.name, ".bias");
}
inline bool is_matrix(const RowEntry& entry) { return entry.shape.size() == (entry.name.find(".experts.") == std::string::npos ? 2 : 3); }

inline const float* floats(const TensorData& tensor) { return reinterpret_cast<const float*>(tensor.bytes.data()); }

inline std::map<std::string, TensorData> by_name(const std::vector<TensorData>& tensors) {
  std::map<std::string, TensorData> out;
  for (const auto& tensor : tensors) out[tensor.name] = tensor;
  REQUIRE(out.size() == tensors.size());
  return out;
}

}  // namespace ffn::test
