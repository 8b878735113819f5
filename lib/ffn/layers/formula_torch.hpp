// A layer that is given as a formula (formula/formula.hpp), operation by operation.
#pragma once

#include <functional>

#include "ffn/formula/formula.hpp"
#include "ffn/layers/feed_forward_torch.hpp"

namespace ffn::modules {

using DropRows = std::function<Tensor(const Tensor& rows, std::uint32_t site)>;

/// Gives a formula's operations what depends on the layout of rows: G groups, each with parameters of its own.
struct FormulaPlace {
  std::vector<Tensor> parameters;  ///< (G, …) each
  /// rows @ the group's matrix (G, D_in, D_out) + its bias (G, D_out), which may be undefined
  std::function<Tensor(const Tensor& rows, const Tensor& weight, const Tensor& bias)> product;
  /// A value of each group (G, W) → one that is broadcast over the group's rows.
  std::function<Tensor(const Tensor& value)> spread;
  /// Rows with some values zeroed, by the masks of that site.
  DropRows drop;
};

/// The formula's value at x, whose last dimension is D.
Tensor evaluate(const FormulaGraph& graph, const FormulaPlace& place, const Tensor& x, const ForwardContext& context, std::uint32_t site);

/// y = whatever the formula says.
/// Parameters are registered under their names; those of "up.weight" and "up.bias" in a part called up, as
/// PositionwiseFeedForward has them.
class FormulaImpl final : public FeedForward {
 public:
  FormulaImpl(std::int64_t num_runs, std::int64_t d_model, const FormulaConfig& config, std::uint32_t site = 0);
  FfnOutput forward(const Tensor& x, const ForwardContext& context) override;

 private:
  FormulaGraph graph_;
  std::uint32_t site_;
  std::vector<Tensor> parameters_;
};
TORCH_MODULE(Formula);

/// The experts of a mixture as formulas: parameters (R, E, …).
class FormulaExpertsImpl final : public RunModule {
 public:
  FormulaExpertsImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site);
  /// x: (M, D), rows sorted by group g = r·E + e; group g owns rows offsets[g] … offsets[g + 1] - 1 → (M, D)
  Tensor forward(const Tensor& x, const std::vector<std::int64_t>& offsets, const ForwardContext& context, const DropRows& drop);
  /// x: (R, N, D) through every expert → (R·E, N, D)
  Tensor all(const Tensor& x, const ForwardContext& context, const DropRows& drop);

 private:
  std::uint32_t site_;
  FormulaGraph graph_;
  std::int64_t num_experts_;
  std::vector<Tensor> parameters_;
};
TORCH_MODULE(FormulaExperts);

}  // namespace ffn::modules
