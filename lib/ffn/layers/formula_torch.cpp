#include "ffn/layers/formula_torch.hpp"

namespace ffn::modules {

namespace {

// Torch's own topk may take any of equal values.
Tensor top_k(const Tensor& h, std::int64_t k) {
  const Tensor order = std::get<1>(h.detach().sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true));
  const Tensor stays = torch::zeros_like(h, torch::kBool).scatter(-1, order.narrow(-1, 0, k), true);
  return torch::where(stays, h, torch::zeros({}, h.options()));
}

}  // namespace

Tensor evaluate(const FormulaGraph& graph, const FormulaPlace& place, const Tensor& x, const ForwardContext& context, std::uint32_t site) {
  std::vector<Tensor> values;
  for (const FormulaNode& node : graph.nodes) {
    const auto of = [&](std::size_t i) -> const FormulaNode& { return graph.nodes[static_cast<std::size_t>(node.inputs[i])]; };
    const auto plain = [&](std::size_t i) -> const Tensor& { return values[static_cast<std::size_t>(node.inputs[i])]; };
    const auto in = [&](std::size_t i) {  // as it takes part in an operation on rows
      const bool stands_alone = of(i).batched || !node.batched || of(i).op == FormulaOp::number;
      return stands_alone ? plain(i) : place.spread(plain(i));
    };
    const auto parameter = [&](int index) { return index < 0 ? Tensor() : place.parameters[static_cast<std::size_t>(index)]; };
    const auto all_inputs = [&] {
      std::vector<Tensor> all;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) all.push_back(in(i));
      return torch::broadcast_tensors(all);
    };
    Tensor y;
    switch (node.op) {
      case FormulaOp::input:
        y = x;
        break;
      case FormulaOp::parameter:
        y = node.matrix_rows > 0 ? parameter(node.parameter).flatten(-2) : parameter(node.parameter);
        break;
      case FormulaOp::number:
        y = torch::full({}, node.number, x.options());
        break;
      case FormulaOp::product: {
        const Tensor matrix = node.parameter >= 0 ? parameter(node.parameter) : plain(1).reshape({plain(1).size(0), of(1).matrix_rows, -1});
        y = place.product(in(0), node.transposed ? matrix.transpose(-1, -2) : matrix, parameter(node.bias));
        break;
      }
      case FormulaOp::add:
        y = in(0) + in(1);
        break;
      case FormulaOp::subtract:
        y = in(0) - in(1);
        break;
      case FormulaOp::multiply:
        y = in(0) * in(1);
        break;
      case FormulaOp::divide:
        y = in(0) / in(1);
        break;
      case FormulaOp::activation:
        y = activate(*node.phi, in(0), context);
        break;
      case FormulaOp::function:
        y = call(*node.function, all_inputs(), context);
        break;
      case FormulaOp::layer_norm:
        y = torch::layer_norm(widened(in(0)), {node.width}, {}, {}, graph.epsilon);
        break;
      case FormulaOp::rms_norm:
        y = widened(in(0)) * torch::rsqrt(widened(in(0)).square().mean(-1, /*keepdim=*/true) + graph.epsilon);
        break;
      case FormulaOp::softmax:
        y = widened(in(0)).softmax(-1);
        break;
      case FormulaOp::top_k:
        y = top_k(in(0), node.kept);
        break;
      case FormulaOp::sum:
        y = widened(in(0)).sum(-1, /*keepdim=*/true);
        break;
      case FormulaOp::mean:
        y = widened(in(0)).mean(-1, /*keepdim=*/true);
        break;
      case FormulaOp::concat: {
        std::vector<Tensor> parts;
        std::vector<std::int64_t> shape = (node.batched ? x : place.parameters[0]).sizes().vec();
        if (!node.batched) shape.resize(2);
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
          shape.back() = of(i).width;
          parts.push_back(in(i).expand(shape));
        }
        y = torch::cat(parts, -1);
        break;
      }
      case FormulaOp::slice:
        y = in(0).narrow(-1, node.begin, node.width);
        break;
      case FormulaOp::dropout:
        y = place.drop(in(0), site + (static_cast<std::uint32_t>(node.site) << 16));  // layers are numbered below
        break;
    }
    values.push_back(std::move(y));
  }
  return values.back();
}

namespace {

/// Holds the parameters of one dotted part of a formula's names.
class FormulaPartImpl final : public RunModule {
 public:
  using RunModule::RunModule;
  Tensor add(const ParameterSpec& spec) { return parameter(spec); }
};
TORCH_MODULE(FormulaPart);

// Registers a formula's parameters: `own` those of the layer itself, dotted ones in parts of it.
template <class Own, class Register>
std::vector<Tensor> register_all(const std::vector<ParameterSpec>& specs, std::int64_t num_runs, const Own& own,
                                 const Register& register_part) {
  std::vector<Tensor> out;
  std::map<std::string, FormulaPart> parts;
  for (ParameterSpec spec : specs) {
    const auto dot = spec.name.find('.');
    if (dot == std::string::npos) {
      out.push_back(own(spec));
      continue;
    }
    const std::string name = spec.name.substr(0, dot);
    if (!parts.count(name)) parts.insert({name, register_part(name, FormulaPart(num_runs))});
    spec.name = spec.name.substr(dot + 1);
    out.push_back(parts.at(name)->add(spec));
  }
  return out;
}

Tensor batched_product(const Tensor& rows, const Tensor& weight, const Tensor& bias) {
  return bias.defined() ? torch::baddbmm(bias.unsqueeze(1), rows, weight) : torch::bmm(rows, weight);
}

Tensor spread_over_rows(const Tensor& value) { return value.unsqueeze(1); }

}  // namespace

FormulaImpl::FormulaImpl(std::int64_t num_runs, std::int64_t d_model, const FormulaConfig& config, std::uint32_t site)
    : FeedForward(num_runs), graph_(graph_of(config.text, d_model, config)), site_(site) {
  parameters_ = register_all(
      graph_.parameters, num_runs, [&](const ParameterSpec& spec) { return parameter(spec); },
      [&](const std::string& name, FormulaPart part) { return register_module(name, part); });
}

FfnOutput FormulaImpl::forward(const Tensor& x, const ForwardContext& context) {
  const auto drop = [&](const Tensor& rows, std::uint32_t site) { return dropout(rows, context, site); };
  return {evaluate(graph_, {parameters_, batched_product, spread_over_rows, drop}, x, context, site_), {}, {}};
}

FormulaExpertsImpl::FormulaExpertsImpl(std::int64_t num_runs, std::int64_t d_model, const MoeConfig& config, std::uint32_t site)
    : RunModule(num_runs), site_(site), graph_(graph_of(*config.expert, d_model, config)), num_experts_(config.num_experts) {
  parameters_ = register_all(
      expert_parameters(graph_.parameters, num_experts_), num_runs, [&](const ParameterSpec& spec) { return parameter(spec); },
      [&](const std::string& name, FormulaPart part) { return register_module(name, part); });
}

Tensor FormulaExpertsImpl::forward(const Tensor& x, const std::vector<std::int64_t>& offsets, const ForwardContext& context,
                                   const DropRows& drop) {
  FormulaPlace place;
  place.drop = drop;
  for (const auto& p : parameters_) place.parameters.push_back(p.flatten(0, 1));
  Tensor group = torch::empty({x.size(0)}, x.options().dtype(torch::kInt64));  // of each row
  for (std::size_t g = 0; g + 1 < offsets.size(); ++g)
    group.narrow(0, offsets[g], offsets[g + 1] - offsets[g]).fill_(static_cast<std::int64_t>(g));
  place.product = [&](const Tensor& rows, const Tensor& weight, const Tensor& bias) {
    return grouped_product(rows, weight, bias, offsets);
  };
  place.spread = [&](const Tensor& value) { return value.index_select(0, group); };
  return evaluate(graph_, place, x, context, site_);
}

Tensor FormulaExpertsImpl::all(const Tensor& x, const ForwardContext& context, const DropRows& drop) {
  FormulaPlace place{{}, batched_product, spread_over_rows, drop};
  for (const auto& p : parameters_) place.parameters.push_back(p.flatten(0, 1));
  const Tensor every = x.unsqueeze(1).expand({x.size(0), num_experts_, x.size(1), x.size(2)}).reshape({-1, x.size(1), x.size(2)});
  return evaluate(graph_, place, every, context, site_);
}

}  // namespace ffn::modules
