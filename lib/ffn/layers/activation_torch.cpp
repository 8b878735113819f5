#include "ffn/layers/activation_torch.hpp"

#include <map>
#include <string>

#include "ffn/kernels/isa.hpp"
#include "ffn/kernels/kernels.hpp"

namespace ffn::modules {

Tensor evaluate_at(const Expression& formula, const std::vector<Tensor>& inputs) {
  const Tensor& like = inputs[0];
  std::vector<Tensor> values(static_cast<std::size_t>(formula.count));
  const auto at = [&](int place) -> const Tensor& { return values[static_cast<std::size_t>(place)]; };
  for (int i = 0; i < formula.count; ++i) {
    const auto& node = formula.nodes[i];
    auto& out = values[static_cast<std::size_t>(i)];
    switch (node.operation) {
      case Operation::input:
        out = inputs[static_cast<std::size_t>(node.a)];
        break;
      case Operation::constant:
        out = torch::full({}, node.value, like.options());
        break;
      case Operation::add:
        out = at(node.a) + at(node.b);
        break;
      case Operation::subtract:
        out = at(node.a) - at(node.b);
        break;
      case Operation::multiply:
        out = at(node.a) * at(node.b);
        break;
      case Operation::divide:
        out = at(node.a) / at(node.b);
        break;
      case Operation::remainder:
        out = at(node.a).remainder(at(node.b));
        if (like.scalar_type() == torch::kFloat64) out = torch::where(at(node.a).abs() < 0x1p53, out, NAN);  // kernels/expression_blocks
        break;
      case Operation::negate:
        out = -at(node.a);
        break;
      case Operation::absolute:
        out = at(node.a).abs();
        break;
      case Operation::floor:
        out = at(node.a).floor();
        break;
      case Operation::sqrt:
        out = at(node.a).sqrt();
        break;
      case Operation::sin:
        out = at(node.a).sin();
        break;
      case Operation::cos:
        out = at(node.a).cos();
        break;
      case Operation::log:
        out = at(node.a).log();
        break;
      case Operation::power:
        out = at(node.a).pow(at(node.b));
        break;
      case Operation::exp:
        out = at(node.a).exp();
        break;
      case Operation::tanh:
        out = at(node.a).tanh();
        break;
      case Operation::erf:
        out = at(node.a).erf();
        break;
      case Operation::log1p:
        out = at(node.a).log1p();
        break;
      case Operation::expm1:
        out = at(node.a).expm1();
        break;
      case Operation::less:
        out = (at(node.a) < at(node.b)).to(like.scalar_type());
        break;
      case Operation::equal:
        out = (at(node.a) == at(node.b)).to(like.scalar_type());
        break;
      case Operation::select:
        out = torch::where(at(node.a).ne(0), at(node.b), at(node.c));
        break;
    }
  }
  // A constant formula (the slope of the identity) is one number so far.
  return values.back().expand(like.sizes());
}

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Activate : torch::autograd::Function<Activate> {
  static Tensor forward(AutogradContext* ctx, const Tensor& input, const Activation* phi) {
    const Tensor z = input.contiguous();
    Tensor y = torch::empty_like(z);
    const auto n = static_cast<size_t>(z.numel());
    if (z.scalar_type() == torch::kFloat64) phi->values(n, z.data_ptr<double>(), y.data_ptr<double>());
    else phi->values(n, z.data_ptr<float>(), y.data_ptr<float>());
    ctx->save_for_backward({z});
    ctx->saved_data["phi"] = reinterpret_cast<std::int64_t>(phi);  // a row of the catalogue outlives every graph
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const Tensor z = ctx->get_saved_variables()[0], dy = gradients[0].contiguous();
    const auto* phi = reinterpret_cast<const Activation*>(ctx->saved_data["phi"].toInt());
    Tensor dz = torch::empty_like(z);
    const auto n = static_cast<size_t>(z.numel());
    if (z.scalar_type() == torch::kFloat64) phi->gradients(n, z.data_ptr<double>(), dy.data_ptr<double>(), dz.data_ptr<double>());
    else phi->gradients(n, z.data_ptr<float>(), dy.data_ptr<float>(), dz.data_ptr<float>());
    return {dz, Tensor()};
  }
};

struct ActivateAnywhere : torch::autograd::Function<ActivateAnywhere> {
  static Tensor forward(AutogradContext* ctx, const Tensor& z, const Activation* phi) {
    ctx->save_for_backward({z});
    ctx->saved_data["phi"] = reinterpret_cast<std::int64_t>(phi);
    // The identity's value is z itself, which a function must not return.
    const Tensor y = evaluate_at(phi->recorded_value(), {z});
    return y.is_same(z) || y.data_ptr() == z.data_ptr() ? z.clone() : y.contiguous();
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const Tensor z = ctx->get_saved_variables()[0];
    const auto* phi = reinterpret_cast<const Activation*>(ctx->saved_data["phi"].toInt());
    return {gradients[0] * evaluate_at(phi->recorded_slope(), {z}), Tensor()};
  }
};

// By the kernels of the processor, or with LibTorch's operations.
Tensor computed(const Expression& expression, const std::vector<Tensor>& inputs, bool host_free) {
  if (host_free) return evaluate_at(expression, inputs).contiguous();
  Tensor y = torch::empty_like(inputs[0]);
  const auto n = static_cast<std::size_t>(y.numel());
  if (y.scalar_type() == torch::kFloat64) {
    std::vector<const double*> data;
    for (const auto& input : inputs) data.push_back(input.data_ptr<double>());
    run_in_double(expression, n, data.data(), y.data_ptr<double>());
  } else {
    std::vector<const float*> data;
    for (const auto& input : inputs) data.push_back(input.data_ptr<float>());
    chosen_build().run(expression, n, data.data(), y.data_ptr<float>());
  }
  return y;
}

// Takes as many of the inputs as the function has.
struct Call : torch::autograd::Function<Call> {
  static Tensor forward(AutogradContext* ctx, const Tensor& a, const Tensor& b, const Tensor& c, const FunctionCall* function,
                        bool host_free) {
    variable_list inputs{a.contiguous(), b.contiguous(), c.contiguous()};
    inputs.resize(function->slopes.size());
    ctx->save_for_backward(inputs);
    ctx->saved_data["function"] = reinterpret_cast<std::int64_t>(function);
    ctx->saved_data["host_free"] = host_free;
    return computed(function->value, inputs, host_free);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const variable_list inputs = ctx->get_saved_variables();
    const auto* function = reinterpret_cast<const FunctionCall*>(ctx->saved_data["function"].toInt());
    const bool host_free = ctx->saved_data["host_free"].toBool();
    variable_list out(5);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Expression& slope = function->slopes[i];
      out[i] = slope.count == 0 ? torch::zeros_like(inputs[i]) : gradients[0] * computed(slope, inputs, host_free);
    }
    return out;
  }
};

}  // namespace

Tensor call(const FunctionCall& function, std::vector<Tensor> inputs, const ForwardContext& context) {
  inputs.resize(3, inputs[0]);
  return Call::apply(inputs[0], inputs[1], inputs[2], &function, context.host_free);
}

namespace {

// Undefined where LibTorch has no such kernel.
Tensor by_own_kernel(const Activation& phi, const Tensor& z) {
  using Kernel = Tensor (*)(const Tensor&);
  static const std::map<std::string, Kernel> kernels{{"identity", [](const Tensor& x) { return x; }},
                                                     {"relu", [](const Tensor& x) { return x.relu(); }},
                                                     {"leaky_relu", [](const Tensor& x) { return torch::leaky_relu(x, 0.01); }},
                                                     {"elu", [](const Tensor& x) { return torch::elu(x); }},
                                                     {"gelu", [](const Tensor& x) { return torch::gelu(x); }},
                                                     {"gelu_tanh", [](const Tensor& x) { return torch::gelu(x, "tanh"); }},
                                                     {"silu", [](const Tensor& x) { return torch::silu(x); }},
                                                     {"tanh", [](const Tensor& x) { return x.tanh(); }},
                                                     {"sigmoid", [](const Tensor& x) { return x.sigmoid(); }}};
  const auto kernel = phi.program ? kernels.end() : kernels.find(phi.name);
  return kernel == kernels.end() ? Tensor() : kernel->second(z);
}

}  // namespace

Tensor activate(const Activation& phi, const Tensor& z, const ForwardContext& context) {
  if (OwnKernels::wanted()) {
    if (Tensor y = by_own_kernel(phi, z); y.defined()) return y;
  }
  return context.host_free ? ActivateAnywhere::apply(z, &phi) : Activate::apply(z, &phi);
}

// In 64-bit integers, of which the low 32 bits count.
Tensor philox_words(const Tensor& seeds, std::int64_t blocks, std::uint32_t site, const Tensor& step) {
  constexpr std::int64_t kLow = 0xFFFFFFFF;
  const auto low = [](const Tensor& x) { return x.bitwise_and(kLow); };
  const auto high = [&](const Tensor& x) { return low(x.__rshift__(32)); };  // arithmetic shift: the mask drops the sign
  // The product of two 32-bit numbers in 16-bit halves of the first: 64-bit signed integers hold no more than 63 bits.
  struct Halves {
    Tensor high, low;
  };
  const auto multiply = [&](std::int64_t factor, const Tensor& x) {
    const Tensor upper = x.__rshift__(16) * factor, lower = x.bitwise_and(0xFFFF) * factor;  // below 2^48
    const Tensor sum = upper + lower.__rshift__(16);                                         // the product's bits 16 and up
    return Halves{low(sum.__rshift__(16)), low(sum.bitwise_and(0xFFFF).__lshift__(16).bitwise_or(lower.bitwise_and(0xFFFF)))};
  };
  const std::vector<std::int64_t> shape{seeds.size(0), blocks};
  const auto options = seeds.options();
  Tensor c0 = torch::arange(blocks, options).unsqueeze(0).expand(shape), c1 = torch::full(shape, static_cast<std::int64_t>(site), options),
         c2 = low(step).expand(shape), c3 = high(step).expand(shape);
  Tensor k0 = low(seeds).unsqueeze(1), k1 = high(seeds).unsqueeze(1);  // (R, 1)
  for (int round = 0; round < 10; ++round) {
    const Halves p0 = multiply(0xD2511F53, c0), p1 = multiply(0xCD9E8D57, c2);
    c0 = p1.high.bitwise_xor(c1).bitwise_xor(k0);
    c1 = p1.low;
    c2 = p0.high.bitwise_xor(c3).bitwise_xor(k1);
    c3 = p0.low;
    k0 = low(k0 + std::int64_t{0x9E3779B9});
    k1 = low(k1 + std::int64_t{0xBB67AE85});
  }
  return torch::stack({c0, c1, c2, c3}, -1);
}

namespace {

// As the dropout of kernels/kernels.hpp, in tensors: the mask's element i is word i of the run's Philox stream against the rate.
Tensor dropout_mask_anywhere(const ForwardContext& context, std::uint32_t site, std::int64_t per_run) {
  const Tensor words = philox_words(context.seeds, (per_run + 3) / 4, site, context.step_number);
  const Tensor bits = words.flatten(1).narrow(1, 0, per_run);                          // (R, per_run)
  const Tensor threshold = context.rates.mul(4294967296.0).round().to(torch::kInt64);  // dropped when the bits are below
  const Tensor kept = (1.0 - context.rates).reciprocal().to(torch::kFloat32);
  return torch::where(bits < threshold.unsqueeze(1), torch::zeros({}, kept.options()), kept.unsqueeze(1));
}

Tensor dropout_mask_on_host(const ForwardContext& context, std::uint32_t site, std::int64_t runs, std::int64_t per_run) {
  Tensor mask = torch::empty({runs, per_run}, torch::kFloat32);
  const auto* rate = context.rates.data_ptr<double>();
  const auto* seed = context.seeds.data_ptr<std::int64_t>();
  const auto step = static_cast<std::uint64_t>(context.step_number.item<std::int64_t>());
  for (std::int64_t r = 0; r < runs; ++r) {
    kernels().dropout_mask(static_cast<std::size_t>(per_run), rate[r], static_cast<std::uint64_t>(seed[r]), site, step,
                           mask.data_ptr<float>() + r * per_run, 0);
  }
  return mask;
}

// `per_element` words of each run's Philox stream for every element of (R, …), as numbers in (0, 1): (R, elements, per_element) float64.
Tensor unit_draws(const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape, std::int64_t per_element) {
  std::int64_t words = per_element;
  for (const auto size : shape.slice(1)) words *= size;
  const Tensor bits =
      philox_words(context.seeds, (words + 3) / 4, site + context.site_shift, context.step_number).flatten(1).narrow(1, 0, words);
  return bits.to(torch::kFloat64).add(0.5).mul(0x1p-32).view({shape[0], -1, per_element});
}

}  // namespace

Tensor uniform_draws(const Tensor& like, const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape) {
  return unit_draws(context, site, shape, 1).view(shape).to(like.scalar_type());
}

// Box and Muller 1958, one of the pair.
Tensor normal_draws(const Tensor& like, const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape) {
  const Tensor pairs = unit_draws(context, site, shape, 2), u = pairs.select(-1, 0), v = pairs.select(-1, 1);
  return (u.log() * -2).sqrt().mul((v * 6.283185307179586).cos()).view(shape).to(like.scalar_type());
}

Tensor dropout_mask(const Tensor& like, const ForwardContext& context, std::uint32_t site, torch::IntArrayRef shape) {
  const std::int64_t runs = shape[0];
  std::int64_t per_run = 1;
  for (const auto size : shape.slice(1)) per_run *= size;
  site += context.site_shift;
  const Tensor mask =
      context.host_free ? dropout_mask_anywhere(context, site, per_run) : dropout_mask_on_host(context, site, runs, per_run);
  return mask.view(shape).to(like.scalar_type());
}

Tensor dropout(const Tensor& h, const ForwardContext& context, std::uint32_t site) {
  if (!context.drops()) return h;
  return h * dropout_mask(h, context, site, h.sizes());
}

Tensor dropout(const Tensor& h, const ForwardContext& context, std::uint32_t site, double rate) {
  if (!context.training || rate == 0) return h;
  ForwardContext own = context;
  own.rates = torch::full({h.size(0)}, rate, context.seeds.options().dtype(torch::kFloat64));
  return dropout(h, own, site);
}

}  // namespace ffn::modules
