// Optimizers as tensor operations on all runs' rows at once: any device, any precision. In float32 on the CPU they give the
// bits of train/optimizer.hpp's, which tests compare; Muon's products are LibTorch's, and differ by roundings.
#pragma once

#include <array>

#include "ffn/config/train_config.hpp"
#include "ffn/layers/parameter_row_torch.hpp"
#include "ffn/train/parameter_groups.hpp"

namespace ffn {

/// Matrices (N, rows, columns), each with its singular values brought near 1: see train/muon.hpp.
torch::Tensor orthogonalised(const torch::Tensor& x);

class TensorOptimizer {
 public:
  /// One config per run, all of one kind and alike but for rate and weight decay; more rows than configs stand still.
  /// State starts at zero, on the device and in the precision of `rows`.
  TensorOptimizer(const RowLayout& layout, const torch::Tensor& rows, std::vector<OptimizerConfig> configs)
      : TensorOptimizer(layout, rows, configs, update_rule(configs.at(0))) {}
  TensorOptimizer(const RowLayout& layout, const torch::Tensor& rows, std::vector<OptimizerConfig> configs, const UpdateRule& rule);

  /// Coefficients of step `step_count` (from 1), (R, C) on the CPU: C numbers per run that change over the steps, for each rate in turn.
  torch::Tensor coefficients(std::int64_t step_count, double rate_factor) const;
  std::int64_t num_coefficients() const;
  /// The same, up to rounding in float64, as base + slope · shared: what does not change over the steps, (R, C) each, and what does
  /// not over runs, (C). On the CPU.
  std::array<torch::Tensor, 2> bases_and_slopes() const;
  torch::Tensor shared_coefficients(std::int64_t step_count, double rate_factor) const;

  /// One update. parameters, gradients: (R, P); scale: (R, 1) multiplies the gradients; coefficients: (R, C); alive: (R, 1)
  /// bool, the runs that move. Leaves nothing behind but the new values, in place. step_number: (1) int64, from 0, where LibTorch's own
  /// kernel of AdamW may be taken.
  void step(const torch::Tensor& parameters, const torch::Tensor& gradients, const torch::Tensor& scale, const torch::Tensor& coefficients,
            const torch::Tensor& alive, const torch::Tensor& step_number = {});

  /// State rows (R, P), by name: such as "mean" and "square".
  const std::vector<std::pair<std::string, torch::Tensor>>& state() const { return state_; }

 private:
  bool fused_step(const torch::Tensor& parameters, const torch::Tensor& gradients, const torch::Tensor& scale,
                  const torch::Tensor& coefficients, const torch::Tensor& alive, const torch::Tensor& step_number);

  std::vector<OptimizerConfig> configs_;
  std::int64_t num_rows_;
  torch::Tensor decays_;  ///< (P) bool
  torch::Tensor moves_;   ///< (P) bool, at a rate above 0; undefined where all are
  struct Factors {
    double rate, decay;
    bool operator==(const Factors& other) const { return rate == other.rate && decay == other.decay; }
  };
  std::vector<Factors> rates_;       ///< on rate and weight decay, those that occur among the parameters
  torch::Tensor rate_of_parameter_;  ///< (P) int64, which of them; undefined where there is one
  std::vector<ParameterGroup> groups_;
  std::vector<RowEntry> matrices_;  ///< that Muon moves
  bool l2_ = false;                 ///< a run of Adam decays
  std::vector<std::pair<std::string, torch::Tensor>> state_;
};

}  // namespace ffn
