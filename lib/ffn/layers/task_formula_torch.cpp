#include "ffn/layers/task_formula_torch.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "ffn/layers/activation_torch.hpp"

namespace ffn::modules {

namespace {

using Kind = TaskFunction::Kind;

Tensor or_nan(const Tensor& defined, const Tensor& x) { return torch::where(defined, x, NAN); }
Tensor whole_or_0(const Tensor& defined, const Tensor& x) { return torch::where(defined, x, 0.0).to(torch::kInt64); }

Tensor bitwise(const std::string& name, const Tensor& a, const Tensor& b) {
  const auto is_whole = [](const Tensor& x) { return x.abs().lt(0x1p53).logical_and(x.eq(x.floor())); };
  const Tensor defined = is_whole(a).logical_and(is_whole(b)), i = whole_or_0(defined, a), j = whole_or_0(defined, b);
  return or_nan(defined, (name == "&" ? i.bitwise_and(j) : name == "|" ? i.bitwise_or(j) : i.bitwise_xor(j)).to(torch::kFloat64));
}

// Over the columns, in their order where that decides the bits.
Tensor reduced(const TaskFunction& function, const Tensor& x, bool is_whole) {
  const std::string name = function.name;
  if (name == "parity") return or_nan(x.isnan().any(-1, true).logical_not(), x.ne(0).sum(-1, true).bitwise_and(1).to(torch::kFloat64));
  if (name == "sum" && is_whole) return x.sum(-1, true);
  Tensor out = torch::full({1}, function.start, x.options());
  for (const Tensor& column : x.split(1, -1)) {
    if (name == "sum") out = out + column;
    else out = torch::where(out.isnan().logical_or(name == "min" ? out.lt(column) : out.gt(column)), out, column);
  }
  return out;
}

// Column n of x, which share all dimensions but the last.
Tensor column(const Tensor& x, const Tensor& n) {
  const Tensor defined = n.ge(0).logical_and(n.lt(x.size(-1))).logical_and(n.eq(n.floor()));
  return or_nan(defined, x.gather(-1, whole_or_0(defined, n)));
}

Tensor picked(const TaskFunction& function, const Tensor& x, const Tensor& n) {
  if (function.name == std::string("nth_smallest"))
    return column(or_nan(x.isnan().any(-1, true).logical_not(), std::get<0>(x.sort(-1))), n);
  // after_last: 1 + the last column before n that equals column n, or 0.
  const Tensor places = torch::arange(x.size(-1), x.options());
  const Tensor after = x.eq(column(x, n)).logical_and(places.lt(n)).mul(places + 1).amax(-1, true);
  return or_nan(after.gt(0), column(x, after));
}

}  // namespace

std::optional<std::int64_t> numbers_held(const TaskFormula& formula) {
  const auto is_rounded = [](const ExpressionNode& node) {
    return node.operation >= Operation::sqrt && node.operation <= Operation::expm1;
  };
  std::int64_t out = 0;
  for (const auto& step : formula.steps()) {
    if (step.element && std::any_of(step.element->nodes, step.element->nodes + step.element->count, is_rounded)) return {};
    out += step.width;
    if (!step.own || step.own->kind != Kind::pick) continue;
    const auto& from = formula.steps()[step.operands[0]];
    if (!from.values) return {};  // -0 and 0 are equal, and differ
    out += 4 * from.width;
  }
  return out;
}

Tensor evaluate(const TaskFormula& formula, const std::vector<Tensor>& inputs, torch::IntArrayRef shape) {
  const auto spread = [&](const Tensor& x) {
    auto sizes = shape.vec();
    sizes.push_back(x.size(-1));
    return x.expand(sizes);
  };
  std::vector<Tensor> values;
  for (const auto& step : formula.steps()) {
    std::vector<Tensor> of;
    for (const std::size_t i : step.operands) of.push_back(values[i]);
    Tensor out;
    if (step.element) {
      of = torch::broadcast_tensors(of);
      out = evaluate_at(*step.element, of);
      for (std::size_t i = 0; formula.chooses() && i < step.strict; ++i) out = or_nan(of[i].isnan().logical_not(), out);
    } else if (!step.own) {
      out =
          step.input == 0 ? torch::full({1}, step.number, inputs[0].options()) : inputs[step.input - 1].narrow(-1, step.begin, step.width);
    } else {
      switch (step.own->kind) {
        case Kind::bitwise:
          out = bitwise(step.own->name, of[0], of[1]);
          break;
        case Kind::negation:
          out = or_nan(of[0].isnan().logical_not(), of[0].eq(0).to(torch::kFloat64));
          break;
        case Kind::reduction:
          out = reduced(*step.own, of[0], formula.steps()[step.operands[0]].values.has_value());
          break;
        case Kind::concat:
          std::transform(of.begin(), of.end(), of.begin(), spread);
          out = torch::cat(of, -1);
          break;
        case Kind::choice:
          out = column(spread(inputs[step.input - 1]), spread(of[0]));
          break;
        case Kind::pick:
          out = picked(*step.own, spread(of[0]), spread(of[1]));
          break;
      }
    }
    values.push_back(out);
  }
  return spread(values.back());
}

}  // namespace ffn::modules
