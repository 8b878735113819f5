#include "ffn/nn/activation.hpp"

#include "ffn/kernels/dropout.hpp"

namespace ffn::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Activation* phi) {
    const Tensor z = input.contiguous();
    Tensor y = torch::empty_like(z);
    const auto n = static_cast<size_t>(z.numel());
    if (z.scalar_type() == torch::kFloat64) phi->forward64(n, z.data_ptr<double>(), y.data_ptr<double>());
    else phi->forward(n, z.data_ptr<float>(), y.data_ptr<float>());
    ctx->save_for_backward({z});
    ctx->saved_data["phi"] = reinterpret_cast<std::int64_t>(phi);  // a row of the catalogue outlives every graph
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const Tensor z = ctx->get_saved_variables()[0], dy = gradients[0].contiguous();
    const auto* phi = reinterpret_cast<const Activation*>(ctx->saved_data["phi"].toInt());
    Tensor dz = torch::empty_like(z);
    const auto n = static_cast<size_t>(z.numel());
    if (z.scalar_type() == torch::kFloat64) phi->backward64(n, z.data_ptr<double>(), dy.data_ptr<double>(), dz.data_ptr<double>());
    else phi->backward(n, z.data_ptr<float>(), dy.data_ptr<float>(), dz.data_ptr<float>());
    return {dz, Tensor()};
  }
};

}  // namespace

Tensor activate(const Activation& phi, const Tensor& z) { return Activate::apply(z, &phi); }

Tensor dropout(const Tensor& h, const ForwardContext& context, std::uint32_t site) {
  if (!context.training || context.dropout_rates.empty()) return h;
  Tensor mask = torch::empty(h.sizes(), h.options().dtype(torch::kFloat32));
  const std::int64_t per_run = h.numel() / h.size(0);
  for (std::int64_t r = 0; r < h.size(0); ++r) {
    const auto run = static_cast<size_t>(r);
    dropout_mask(static_cast<size_t>(per_run), context.dropout_rates[run], context.dropout_seeds[run], site,
                 static_cast<std::uint64_t>(context.step), mask.data_ptr<float>() + r * per_run);
  }
  return h * mask.to(h.scalar_type());
}

}  // namespace ffn::nn
