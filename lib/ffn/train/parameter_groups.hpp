// How the parameters of a row are updated.
#pragma once

#include <functional>

#include "ffn/base/parameters.hpp"
#include "ffn/config/run_config.hpp"

namespace ffn {

/// How one parameter is updated.
struct Update {
  bool decays;
  double rate = 1;           ///< times the run's learning rate; 0: the parameter and its state stay as they are
  bool as_matrices = false;  ///< each matrix as a whole: by Muon
  double decay = 1;          ///< times the run's weight decay
};
inline bool operator==(const Update& a, const Update& b) {
  return a.decays == b.decays && a.rate == b.rate && a.as_matrices == b.as_matrices && a.decay == b.decay;
}

/// The optimizer of parameters with this factor on the weight decay.
template <class Config>
Config with_decay(Config config, double factor) {
  config.weight_decay *= factor;
  return config;
}

/// By name, role and shape.
using UpdateRule = std::function<Update(const RowEntry&)>;
/// OptimizerConfig's `decay`, `decay_scale` and `lr_scale`, and what Muon moves.
UpdateRule update_rule(const OptimizerConfig& config);
/// The same, and what `model.init` says of rates.
UpdateRule update_rule(const RunConfig& run);

/// "muon: matrices of up, down; adamw: …" of a model's parameters; empty for optimizers that move all parameters alike.
std::string division_text(const RunConfig& run);

/// The matrices (rows, columns) = (D_in, D_out) of a parameter, one after the other: of a mixture one per expert; none (count 0) where it
/// is no linear map, as embeddings, biases and norms.
struct Matrices {
  std::int64_t count, rows, columns;
};
Matrices matrices_of(const ParameterSpec& parameter);

/// Neighbours in a row that are updated alike; the padding between them has zero gradient and stays zero.
struct ParameterGroup {
  std::int64_t offset, count;
  Update update;
  std::vector<RowEntry> parameters;
};

/// All parameters of a row in their order. Buffers never decay.
std::vector<ParameterGroup> parameter_groups(const RowLayout& layout, const UpdateRule& rule);

}  // namespace ffn
