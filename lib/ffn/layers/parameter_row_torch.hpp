// All parameters of R runs as one (R, P) tensor: run r is row r, contiguous. Layers keep views of it, gradients
// likewise, so that an optimizer step is one pass and a checkpoint is a row.
#pragma once

#include <memory>

#include "ffn/base/tensor_data.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

class ParameterRow {
 public:
  /// Moves the module's parameters into one row (values kept), of that dtype and on that device, and gives them gradients that are views of
  /// another.
  explicit ParameterRow(RunModule& module, const torch::TensorOptions& options = torch::kFloat32);

  const Tensor& values() const { return values_; }        ///< (R, P)
  const Tensor& gradients() const { return gradients_; }  ///< (R, P)
  const RowLayout& layout() const { return layout_; }
  const std::vector<RowEntry>& entries() const { return layout_.entries(); }
  std::int64_t num_runs() const { return values_.size(0); }
  /// Parameters of one run, padding not counted.
  std::int64_t num_parameters() const { return layout_.num_parameters(); }

  /// Draws every parameter of run r from (seeds[r], name).
  void initialise(const std::vector<std::uint64_t>& seeds);

  /// Run r as named tensors in torch.nn.Linear's layout.
  std::vector<TensorData> export_run(std::int64_t r) const;
  /// The reverse. Throws CheckpointError with every difference in name, shape or dtype.
  void import_run(std::int64_t r, const std::vector<TensorData>& tensors);

 private:
  Tensor view(const Tensor& row, const RowEntry& entry) const;

  RowLayout layout_;
  Tensor values_, gradients_;
};

}  // namespace ffn::modules
