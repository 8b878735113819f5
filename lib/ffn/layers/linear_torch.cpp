#include "ffn/layers/linear_torch.hpp"

#include "ffn/config/parameters.hpp"

namespace ffn::modules {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// One matrix product per non-empty group. A group of no rows still has a gradient: zero.
struct GroupedProduct : torch::autograd::Function<GroupedProduct> {
  // weight: (G, D_in, D_out); bias: (G, D_out), or empty for none (LibTorch 1.13 takes no undefined tensor here)
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        std::vector<std::int64_t> offsets) {
    Tensor y = torch::empty({x.size(0), weight.size(2)}, x.options());
    for_each_group(offsets, [&](std::int64_t g, std::int64_t begin, std::int64_t rows) {
      Tensor out = y.narrow(0, begin, rows);
      const Tensor in = x.narrow(0, begin, rows);
      if (bias.numel() > 0) at::addmm_out(out, bias[g], in, weight[g]);
      else at::mm_out(out, in, weight[g]);
    });
    ctx->save_for_backward({x, weight});
    ctx->saved_data["offsets"] = offsets;
    ctx->saved_data["has_bias"] = bias.numel() > 0;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weight = saved[1];
    const Tensor dy = gradients[0].contiguous();
    const bool has_bias = ctx->saved_data["has_bias"].toBool();
    Tensor dx = torch::empty_like(x), dweight = torch::zeros_like(weight, at::MemoryFormat::Contiguous), dbias;
    if (has_bias) dbias = torch::zeros({weight.size(0), weight.size(2)}, weight.options());
    for_each_group(ctx->saved_data["offsets"].toIntVector(), [&](std::int64_t g, std::int64_t begin, std::int64_t rows) {
      const Tensor in = x.narrow(0, begin, rows), out = dy.narrow(0, begin, rows);
      Tensor din = dx.narrow(0, begin, rows), dw = dweight[g];
      at::mm_out(din, out, weight[g].t());
      at::mm_out(dw, in.t(), out);
      if (has_bias) dbias[g].copy_(out.sum(0));
    });
    return {dx, dweight, dbias, Tensor()};
  }

  template <class Visit>
  static void for_each_group(const std::vector<std::int64_t>& offsets, const Visit& visit) {
    for (size_t g = 0; g + 1 < offsets.size(); ++g) {
      const std::int64_t rows = offsets[g + 1] - offsets[g];
      if (rows > 0) visit(static_cast<std::int64_t>(g), offsets[g], rows);
    }
  }
};

}  // namespace

LinearImpl::LinearImpl(std::int64_t num_runs, std::int64_t d_in, std::int64_t d_out, bool with_bias) : RunModule(num_runs) {
  const auto parameters = linear_parameters(d_in, d_out, with_bias);
  weight = parameter(parameters.weight);
  bias = parameter(parameters.bias);
}

Tensor LinearImpl::forward(const Tensor& x) {
  return bias.defined() ? torch::baddbmm(bias.unsqueeze(1), x, weight) : torch::bmm(x, weight);
}

Tensor grouped_product(const Tensor& x, const Tensor& weight, const Tensor& bias, const std::vector<std::int64_t>& offsets) {
  const auto dtype = ProductPrecision::is_lowered(x.device()) ? torch::kBFloat16 : x.scalar_type();
  return GroupedProduct::apply(x.to(dtype), weight.to(dtype), bias.defined() ? bias.to(dtype) : x.new_empty({0}), offsets);
}

GroupedLinearImpl::GroupedLinearImpl(std::int64_t num_runs, std::int64_t num_experts, std::int64_t d_in, std::int64_t d_out, bool with_bias)
    : RunModule(num_runs) {
  const auto parameters = expert_linear_parameters(num_experts, d_in, d_out, with_bias);
  weight = parameter(parameters.weight);
  bias = parameter(parameters.bias);
}

Tensor GroupedLinearImpl::forward(const Tensor& x, const std::vector<std::int64_t>& offsets) {
  return grouped_product(x, weight.flatten(0, 1), bias.defined() ? bias.flatten(0, 1) : Tensor(), offsets);
}

Tensor GroupedLinearImpl::all(const Tensor& x) {
  const Tensor weights = weight.flatten(0, 1);  // (R·E, D_in, D_out)
  return bias.defined() ? torch::baddbmm(bias.flatten(0, 1).unsqueeze(1), x, weights) : torch::bmm(x, weights);
}

}  // namespace ffn::modules
