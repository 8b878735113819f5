// Modules whose parameters have a leading run axis: R models of one shape that compute as one.
// R = 1 is an ordinary model. Shapes everywhere: R runs, N = B·T tokens, D d_model, F d_ff, H heads, E experts.
#pragma once

#include "ffn/core/parameters.hpp"
#include "ffn/nn/torch.hpp"

namespace ffn::nn {

using torch::Tensor;

/// Base of all layers: registers parameters by their description (config/parameters.hpp).
class RunModule : public torch::nn::Module {
 public:
  explicit RunModule(std::int64_t num_runs) : num_runs_(num_runs) {}
  std::int64_t num_runs() const { return num_runs_; }
  /// By the parameter's own name, as registered in this module.
  const ParameterSpec& spec(const std::string& name) const { return specs_.at(name); }

 protected:
  /// A parameter of shape (R, shape…), zero until initialised.
  Tensor parameter(const ParameterSpec& spec) {
    auto shape = spec.shape;
    shape.insert(shape.begin(), num_runs_);
    specs_.insert({spec.name, spec});
    return register_parameter(spec.name, torch::zeros(shape));
  }
  /// Undefined for no parameter.
  Tensor parameter(const std::optional<ParameterSpec>& spec) { return spec ? parameter(*spec) : Tensor(); }

 private:
  std::int64_t num_runs_;
  std::map<std::string, ParameterSpec> specs_;
};

/// What a forward pass needs to know beside its input.
struct ForwardContext {
  bool training = false;
  std::int64_t step = 0;                     ///< selects the dropout masks
  std::vector<double> dropout_rates;         ///< one per run; empty means none
  std::vector<std::uint64_t> dropout_seeds;  ///< one per run
};

}  // namespace ffn::nn
