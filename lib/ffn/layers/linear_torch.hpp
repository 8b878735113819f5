// Affine maps on the run axis.
#pragma once

#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

/// y = x W + b for each run. W is (R, D_in, D_out), b is (R, D_out).
/// Starts as torch.nn.Linear does: W and b ~ U(±1/√D_in).
/// x: (R, N, D_in) → y: (R, N, D_out). Throws c10::Error if the last dimension is not D_in.
class LinearImpl : public RunModule {
 public:
  LinearImpl(std::int64_t num_runs, std::int64_t d_in, std::int64_t d_out, bool bias);
  Tensor forward(const Tensor& x);

  Tensor weight, bias;  ///< bias is undefined without one
};
TORCH_MODULE(Linear);

/// Group g's rows of x (M, D_in), those from offsets[g] to offsets[g + 1] - 1, times weight[g] (D_in, D_out), plus bias[g] (D_out) if
/// there is one → (M, D_out).
Tensor grouped_product(const Tensor& x, const Tensor& weight, const Tensor& bias, const std::vector<std::int64_t>& offsets);

/// E affine maps per run, each applied to its own rows. W is (R, E, D_in, D_out), b is (R, E, D_out).
/// x: (M, D_in), rows sorted by group g = r·E + e; group g owns rows offsets[g] … offsets[g + 1] - 1.
/// → y: (M, D_out) in the same order.
class GroupedLinearImpl : public RunModule {
 public:
  GroupedLinearImpl(std::int64_t num_runs, std::int64_t num_experts, std::int64_t d_in, std::int64_t d_out, bool bias);
  Tensor forward(const Tensor& x, const std::vector<std::int64_t>& offsets);
  /// Every map on as many rows: x (R·E, N, D_in) → (R·E, N, D_out).
  Tensor all(const Tensor& x);

  Tensor weight, bias;
};
TORCH_MODULE(GroupedLinear);

}  // namespace ffn::modules
