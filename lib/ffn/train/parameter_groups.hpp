// How the parameters of a row are updated.
#pragma once

#include "ffn/base/parameters.hpp"
#include "ffn/config/train_config.hpp"

namespace ffn {

/// Neighbours in a row that are updated alike; the padding between them has zero gradient and stays zero.
struct ParameterGroup {
  std::int64_t offset, count;
  bool decays;
  std::vector<RowEntry> parameters;  ///< by name, shape and role, for an optimizer of matrices
};

/// All parameters of a row in their order. By role: buffers never decay; by shape: see OptimizerConfig's `decay`.
std::vector<ParameterGroup> parameter_groups(const RowLayout& layout, const OptimizerConfig& config);

}  // namespace ffn
