// Modules whose parameters have a leading run axis: R models of one shape that compute as one.
// R = 1 is an ordinary model. Shapes everywhere: R runs, N = B·T tokens, D d_model, F d_ff, H heads, E experts.
#pragma once

#include "ffn/base/parameters.hpp"
#include "ffn/layers/compat_torch.hpp"

namespace ffn::modules {

using torch::Tensor;

/// Base of all layers: registers parameters by their description (config/parameters.hpp).
class RunModule : public torch::nn::Module {
 public:
  explicit RunModule(std::int64_t num_runs) : num_runs_(num_runs) {}
  std::int64_t num_runs() const { return num_runs_; }
  /// By the parameter's own name, as registered in this module.
  const ParameterSpec& spec(const std::string& name) const { return specs_.at(name); }

 protected:
  /// A parameter of shape (R, shape…), which gets its memory from a ParameterRow.
  Tensor parameter(const ParameterSpec& spec) {
    auto shape = spec.shape;
    shape.insert(shape.begin(), num_runs_);
    specs_.insert({spec.name, spec});
    return register_parameter(spec.name, torch::zeros({}).expand(shape));
  }
  /// Undefined for no parameter.
  Tensor parameter(const std::optional<ParameterSpec>& spec) { return spec ? parameter(*spec) : Tensor(); }

 private:
  std::int64_t num_runs_;
  std::map<std::string, ParameterSpec> specs_;
};

/// The facts that a forward pass needs beside its input. The tensors stand on the input's device, so that a pass that was
/// captured once can be replayed for another step.
struct ForwardContext {
  bool training = false;
  bool host_free = false;            ///< no operation may wait for the host or use its kernels: what a GPU needs, and a captured step
  bool waits = false;                ///< all the same, mixtures wait for how many rows each expert gets: worth it where these are many
  std::int64_t sequence_length = 1;  ///< T: token n of a run stands in its sequence n/T
  Tensor step_number;                ///< (1) int64: selects the dropout masks
  Tensor rates;                      ///< (R) float64: share of the hidden layer that is dropped; undefined where no run drops any
  Tensor seeds;                      ///< (R) int64: the bits of the runs' dropout seeds; defined in training
  std::uint32_t site_shift = 0;      ///< on the sites of dropout masks in an FFN that blocks share: each block has its own masks
  /// Every router leaves here how far each token's last expert lies above the first one that it does not go to, as a share
  /// of the last one's score: (R, N), 0 where they tie; and memories likewise for slots, as a difference: (R, H, N).
  std::vector<Tensor>* margins = nullptr;
  bool drops() const { return training && rates.defined(); }
};

/// While one lives that says so, layers and losses compute with LibTorch's own kernels where it has them: fewer launches, and fewer
/// tensors kept for the backward pass. Their bits are not those of the CPU's promise, so this is for devices. Of the calling thread.
class OwnKernels {
 public:
  explicit OwnKernels(bool wanted);
  ~OwnKernels();
  OwnKernels(const OwnKernels&) = delete;
  OwnKernels& operator=(const OwnKernels&) = delete;
  static bool wanted();

 private:
  bool before_;
};

/// Training context on the CPU; no rate above 0 means no dropout in the feed-forward layers.
ForwardContext training_context(const std::vector<double>& rates, const std::vector<std::uint64_t>& seeds, std::int64_t step);

}  // namespace ffn::modules
