// Optimizers on parameter rows: each run has its own learning rate and weight decay and is updated in one pass.
#pragma once

#include "ffn/base/parameters.hpp"
#include "ffn/config/train_config.hpp"
#include "ffn/kernels/kernels.hpp"
#include "ffn/train/muon.hpp"
#include "ffn/train/parameter_groups.hpp"
#include "ffn/train/rows.hpp"

namespace ffn {

class RowOptimizer {
 public:
  /// One config per run, all of one kind. State starts at zero.
  RowOptimizer(const RowLayout& layout, std::vector<OptimizerConfig> configs) : RowOptimizer(layout, configs, update_rule(configs.at(0))) {}
  RowOptimizer(const RowLayout& layout, std::vector<OptimizerConfig> configs, const UpdateRule& rule);

  /// The step_count-th update (from 1) of run r: `parameters` (P) by `gradient` (P), which is multiplied by `grad_scale`,
  /// with the run's rate multiplied by `rate_factor`.
  void step(std::int64_t r, std::int64_t step_count, double rate_factor, double grad_scale, const float* gradient, float* parameters) {
    this->step(r, step_count, rate_factor, grad_scale, gradient, parameters, 0, width_);
  }
  /// The same of the parameters begin … end - 1 alone: pieces may be taken side by side. Muon takes the matrices that begin there, whole.
  void step(std::int64_t r, std::int64_t step_count, double rate_factor, double grad_scale, const float* gradient, float* parameters,
            std::int64_t begin, std::int64_t end);

  /// State rows (R, P), by name: such as "mean" and "square".
  std::vector<std::pair<std::string, Rows>>& state() { return state_; }
  const std::vector<std::pair<std::string, Rows>>& state() const { return state_; }

 private:
  // One step on `count` parameters of run r from `offset` on; gradient and parameters begin there.
  void take(const AdamStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient, float* parameters);
  void take(const SgdStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient, float* parameters);
  void take(const LionStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient, float* parameters);
  void take(const MuonStep& step, std::int64_t r, std::int64_t offset, std::int64_t count, const float* gradient, float* parameters);
  // The matrices of a group that begin in begin … end - 1; gradient and parameters are rows.
  void take_matrices(const MuonStep& step, std::int64_t r, const ParameterGroup& group, std::int64_t begin, std::int64_t end,
                     const float* gradient, float* parameters);

  std::vector<OptimizerConfig> configs_;
  std::int64_t width_;
  std::vector<ParameterGroup> groups_;
  std::vector<std::pair<std::string, Rows>> state_;
};

}  // namespace ffn
