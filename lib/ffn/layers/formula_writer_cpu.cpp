// Writes a formula's program: the operations of both passes in their order.
#include <algorithm>
#include <optional>

#include "ffn/layers/formula_cpu.hpp"

namespace ffn::cpu {

namespace {

// Gradients of parameters with one use, as a matrix or as its bias, are written; others are added to.
std::vector<Gradient> gradients_of(const FormulaGraph& graph) {
  std::vector<int> uses(graph.parameters.size());
  for (const auto& node : graph.nodes) {
    if (node.op == FormulaOp::parameter) uses[static_cast<std::size_t>(node.parameter)] += 2;  // as a value
    if (node.op == FormulaOp::product && node.parameter >= 0) ++uses[static_cast<std::size_t>(node.parameter)];
    if (node.bias >= 0) ++uses[static_cast<std::size_t>(node.bias)];
  }
  std::vector<Gradient> gradients;
  for (const int count : uses) gradients.push_back(count == 1 ? Gradient::written : Gradient::added_to);
  return gradients;
}

Arithmetic arithmetic_of(FormulaOp op) {
  if (op == FormulaOp::add) return Arithmetic::add;
  if (op == FormulaOp::subtract) return Arithmetic::subtract;
  return op == FormulaOp::multiply ? Arithmetic::multiply : Arithmetic::divide;
}

}  // namespace

/// Writes the operations of both passes, each value with a slot of its own.
class FormulaProgram::Writer {
 public:
  Writer(FormulaProgram& program, const FormulaGraph& graph, const std::vector<Gradient>& gradients, std::uint32_t site)
      : program_(program), graph_(graph), gradients_(gradients), site_(site) {}

  void write() {
    const std::size_t n = graph_.nodes.size();
    for (auto* refs : {&values_, &slopes_, &adjoints_}) refs->resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      first_op_.push_back(ops().size());
      forward(i);
    }
    num_forward_ = ops().size();
    show_hidden_layer();
    program_.result_ = values_.back();
    adjoints_.back() = {Ref::Of::dy, 0, shape_of(graph_.nodes.back())};
    backward_all();
    for (std::size_t i = 0; i < n; ++i) {
      if (graph_.nodes[i].op == FormulaOp::input) program_.dx_ = adjoints_[i];
    }
    // Sums over rows begin at zero.
    ops().insert(ops().begin() + static_cast<std::ptrdiff_t>(num_forward_), zeros_.begin(), zeros_.end());
    program_.share_slots(num_values_, num_forward_);
    program_.place_in_bases();
    program_.simplify();
    program_.forward_ = program_.grouped(0, num_forward_);
    program_.backward_ = program_.grouped(num_forward_, ops().size());
  }

 private:
  std::vector<Op>& ops() { return program_.ops_; }
  static Shape shape_of(const FormulaNode& node) { return {node.batched, node.width}; }

  Ref make(const Shape& shape) { return {Ref::Of::slot, num_values_++, shape}; }
  Ref number(float x) {
    program_.numbers_.push_back(x);
    return {Ref::Of::number, static_cast<int>(program_.numbers_.size()) - 1, {}};
  }
  Op& emit(Kind kind, const Ref& a, const Ref& b, const Ref& out) {
    Op op{kind, a, b, out, {}};
    ops().push_back(op);
    return ops().back();
  }
  Op& combine(Arithmetic how, const Ref& a, const Ref& b, const Ref& out, bool accumulate = false) {
    Op& op = emit(Kind::combine, a, b, out);
    op.how = how;
    op.accumulate = accumulate;
    return op;
  }

  // ---- forward

  void forward(std::size_t i) {
    const FormulaNode& node = graph_.nodes[i];
    const auto in = [&](std::size_t k) { return values_[static_cast<std::size_t>(node.inputs[k])]; };
    const Shape shape = shape_of(node);
    Ref& value = values_[i];
    switch (node.op) {
      case FormulaOp::input:
        value = {Ref::Of::x, 0, shape};
        return;
      case FormulaOp::parameter:
        value = {Ref::Of::parameter, node.parameter, shape};
        return;
      case FormulaOp::number:
        value = number(static_cast<float>(node.number));
        return;
      default:
        value = make(shape);
    }
    switch (node.op) {
      case FormulaOp::product: {
        Op& op = emit(Kind::product, in(0), node.parameter < 0 ? in(1) : Ref(), value);
        op.matrix = node.parameter;
        op.bias = node.bias;
        op.transposed = node.transposed;
        break;
      }
      case FormulaOp::add:
      case FormulaOp::subtract:
      case FormulaOp::multiply:
      case FormulaOp::divide:
        combine(arithmetic_of(node.op), in(0), in(1), value);
        break;
      case FormulaOp::activation:
        slopes_[i] = make(shape);
        emit(Kind::activation, in(0), {}, value).beside = slopes_[i];
        ops().back().phi = node.phi;
        break;
      case FormulaOp::function:
        program_.functions_.push_back(node.function);
        function(node, node.function->value, value);
        break;
      case FormulaOp::layer_norm:
      case FormulaOp::rms_norm:
        slopes_[i] = make({shape.batched, 1});
        emit(Kind::normalise, in(0), {}, value).beside = slopes_[i];
        ops().back().centre = node.op == FormulaOp::layer_norm;
        break;
      case FormulaOp::softmax:
        emit(Kind::softmax, in(0), {}, value);
        break;
      case FormulaOp::top_k:
        slopes_[i] = make(shape);
        emit(Kind::top_k, in(0), {}, value).beside = slopes_[i];
        ops().back().kept = node.kept;
        break;
      case FormulaOp::sum:
      case FormulaOp::mean: {
        emit(Kind::zero, {}, {}, value);
        emit(Kind::reduce, in(0), {}, value);
        if (node.op == FormulaOp::mean) combine(Arithmetic::multiply, value, number(one_over(in(0).shape.width)), value);
        break;
      }
      case FormulaOp::concat: {
        std::int64_t at = 0;
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          copy_columns(in(k), 0, value, at, in(k).shape.width, false);
          at += in(k).shape.width;
        }
        break;
      }
      case FormulaOp::slice:
        copy_columns(in(0), node.begin, value, 0, node.width, false);
        break;
      case FormulaOp::dropout:
        slopes_[i] = make(shape);
        emit(Kind::drop, in(0), {}, value).beside = slopes_[i];
        ops().back().site = site_ + (static_cast<std::uint32_t>(node.site) << 16);
        break;
      default:
        break;
    }
  }

  // The pre-activation before its slope can take its place.
  void show_hidden_layer() {
    const auto hidden = hidden_layer(graph_);
    const auto show = [&](std::size_t before, Value what, int node) {
      if (node >= 0) program_.shown_.push_back({first_op_[before], what, values_[static_cast<std::size_t>(node)]});
    };
    if (!hidden) return;
    const std::size_t last = graph_.nodes.size() - 1;
    show(last, Value::hidden, hidden->value);
    show(static_cast<std::size_t>(hidden->pre_activation + 1), Value::pre_activation, hidden->pre_activation);
    show(last, Value::gate, hidden->gate);
    show(last, Value::up, hidden->up);
  }

  // An expression of the node's inputs, each as wide as the node itself.
  void function(const FormulaNode& node, const Expression& expression, const Ref& out) {
    Ref operands[3];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const Ref& in = values_[static_cast<std::size_t>(node.inputs[k])];
      operands[k] = in;
      if (in.shape == out.shape) continue;
      combine(Arithmetic::copy, in, {}, operands[k] = make(out.shape));
    }
    Op& op = emit(Kind::function, operands[0], operands[1], out);
    op.beside = operands[2];
    op.expression = &expression;
  }

  static float one_over(std::int64_t n) { return static_cast<float>(1.0 / static_cast<double>(n)); }

  void copy_columns(const Ref& a, std::int64_t from, const Ref& out, std::int64_t to, std::int64_t width, bool accumulate) {
    Op& op = emit(Kind::copy_columns, a, {}, out);
    op.from = from;
    op.to = to;
    op.accumulate = accumulate;
    op.beside.shape = {out.shape.batched, width};
  }

  // ---- backward

  // Place of a node's gradient, and whether it holds a part already.
  struct Target {
    Ref ref;
    bool accumulate;
  };

  std::optional<Target> target(int node) {
    const FormulaNode& n = graph_.nodes[static_cast<std::size_t>(node)];
    Ref& adjoint = adjoints_[static_cast<std::size_t>(node)];
    if (n.op == FormulaOp::number) return std::nullopt;
    if (n.op == FormulaOp::parameter) return Target{adjoint = {Ref::Of::gradient, n.parameter, shape_of(n)}, true};
    if (adjoint.of != Ref::Of::nothing) return Target{adjoint, true};
    return Target{adjoint = make(shape_of(n)), false};
  }

  // dnode += a ∘ b, which has the shape of the value that the node took part in.
  void contribute(int node, Arithmetic how, const Ref& a, const Ref& b, const Shape& shape) {
    auto to = target(node);
    if (!to) return;
    if (to->ref.shape == shape) return void(combine(how, a, b, to->ref, to->accumulate));
    Ref term = a;
    if (how != Arithmetic::copy || !(a.shape == shape)) combine(how, a, b, term = make(shape));
    if (!to->accumulate) {  // its sum begins at zero: before all rows if it is a sum over rows
      Op zero{Kind::zero, {}, {}, to->ref, {}};
      if (to->ref.shape.batched) ops().push_back(zero);
      else zeros_.push_back(zero);
    }
    emit(Kind::reduce, term, {}, to->ref);
  }

  // A node's turn comes when all that use it have had theirs. Products last, so that what goes by rows stays together; otherwise the
  // first of the formula first.
  void backward_all() {
    const std::size_t n = graph_.nodes.size();
    std::vector<int> users(n);
    for (const auto& node : graph_.nodes) {
      for (const int input : node.inputs) ++users[static_cast<std::size_t>(input)];
    }
    std::vector<bool> done(n);
    for (std::size_t turns = 0; turns < n; ++turns) {
      std::size_t next = n;
      for (std::size_t i = 0; i < n; ++i) {
        if (done[i] || users[i] > 0) continue;
        const bool product = graph_.nodes[i].op == FormulaOp::product;
        if (next == n || (!product && graph_.nodes[next].op == FormulaOp::product)) next = i;
      }
      done[next] = true;
      backward(next);
      for (const int input : graph_.nodes[next].inputs) --users[static_cast<std::size_t>(input)];
    }
  }

  void backward(std::size_t i) {
    const FormulaNode& node = graph_.nodes[i];
    const Ref dout = adjoints_[i];
    const Shape shape = shape_of(node);
    const auto input = [&](std::size_t k) { return node.inputs[k]; };
    const auto in = [&](std::size_t k) { return values_[static_cast<std::size_t>(node.inputs[k])]; };
    switch (node.op) {
      case FormulaOp::input:
      case FormulaOp::parameter:
      case FormulaOp::number:
        break;
      case FormulaOp::product:
        product_backward(node, dout, in(0));
        break;
      case FormulaOp::add:
        contribute(input(0), Arithmetic::copy, dout, {}, shape);
        contribute(input(1), Arithmetic::copy, dout, {}, shape);
        break;
      case FormulaOp::subtract:
        contribute(input(0), Arithmetic::copy, dout, {}, shape);
        contribute(input(1), Arithmetic::multiply, dout, number(-1), shape);
        break;
      case FormulaOp::multiply:
        contribute(input(0), Arithmetic::multiply, dout, in(1), shape);
        contribute(input(1), Arithmetic::multiply, dout, in(0), shape);
        break;
      case FormulaOp::divide: {  // y = a / b: da = dy / b, db = -dy · y / b
        contribute(input(0), Arithmetic::divide, dout, in(1), shape);
        if (graph_.nodes[static_cast<std::size_t>(input(1))].op == FormulaOp::number) break;
        const Ref term = make(shape);
        combine(Arithmetic::multiply, dout, values_[i], term);
        combine(Arithmetic::divide, term, in(1), term);
        contribute(input(1), Arithmetic::multiply, term, number(-1), shape);
        break;
      }
      case FormulaOp::activation:
      case FormulaOp::top_k:
        contribute(input(0), Arithmetic::multiply, dout, slopes_[i], shape);
        break;
      case FormulaOp::function:
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          const Expression& slope = node.function->slopes[k];
          const Ref by = slope.count == 0 ? number(0) : make(shape);
          if (slope.count > 0) function(node, slope, by);
          contribute(input(k), Arithmetic::multiply, dout, by, shape);
        }
        break;
      case FormulaOp::layer_norm:
      case FormulaOp::rms_norm:
      case FormulaOp::softmax: {
        const Ref out = into(input(0), shape);
        const Kind kind = node.op == FormulaOp::softmax ? Kind::softmax_backward : Kind::normalise_backward;
        emit(kind, dout, values_[i], out).beside = slopes_[i];
        ops().back().centre = node.op == FormulaOp::layer_norm;
        finish(input(0), out);
        break;
      }
      case FormulaOp::sum:
      case FormulaOp::mean: {
        const std::int64_t width = in(0).shape.width;
        contribute(input(0), Arithmetic::multiply, dout, number(node.op == FormulaOp::sum ? 1.0f : one_over(width)), in(0).shape);
        break;
      }
      case FormulaOp::concat: {
        std::int64_t at = 0;
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          const std::int64_t width = in(k).shape.width;
          const Ref part = make({shape.batched, width});
          copy_columns(dout, at, part, 0, width, false);
          contribute(input(k), Arithmetic::copy, part, {}, part.shape);
          at += width;
        }
        break;
      }
      case FormulaOp::slice: {
        const auto to = target(input(0));
        if (!to) break;
        if (!to->accumulate) emit(Kind::zero, {}, {}, to->ref);
        copy_columns(dout, 0, to->ref, node.begin, node.width, true);
        break;
      }
      case FormulaOp::dropout:
        if (const auto to = target(input(0))) emit(Kind::mask, dout, slopes_[i], to->ref).accumulate = to->accumulate;
        break;
    }
  }

  // For operations that only write: the target itself, or a value that finish() adds to it.
  Ref into(int node, const Shape& shape) {
    const auto to = target(node);
    direct_ = to && !to->accumulate && to->ref.shape == shape;
    return direct_ ? to->ref : make(shape);
  }
  void finish(int node, const Ref& written) {
    if (!direct_) contribute(node, Arithmetic::copy, written, {}, written.shape);
  }

  void product_backward(const FormulaNode& node, const Ref& dout, const Ref& in) {
    const auto is_added_to = [&](int parameter) {
      return parameter >= 0 && gradients_[static_cast<std::size_t>(parameter)] == Gradient::added_to;
    };
    const bool computed = node.parameter < 0;
    const auto of_matrix = computed ? target(node.inputs[1]) : std::nullopt;
    Op& weight = emit(Kind::weight_gradient, in, dout, computed ? of_matrix->ref : Ref());
    weight.matrix = node.parameter;
    weight.accumulate = computed ? of_matrix->accumulate : is_added_to(node.parameter);
    weight.transposed = node.transposed;
    weight.bias = node.bias;
    weight.accumulate_bias = is_added_to(node.bias);
    const auto to = target(node.inputs[0]);
    Op& back = emit(Kind::input_gradient, dout, computed ? values_[static_cast<std::size_t>(node.inputs[1])] : Ref(),
                    to->ref);  // what is multiplied depends on x
    back.matrix = node.parameter;
    back.accumulate = to->accumulate;
    back.transposed = node.transposed;
  }

  FormulaProgram& program_;
  const FormulaGraph& graph_;
  const std::vector<Gradient>& gradients_;  // of each parameter
  std::uint32_t site_;
  int num_values_ = 0;
  std::size_t num_forward_ = 0;
  bool direct_ = false;
  std::vector<Ref> values_, slopes_, adjoints_;  // of each node; slope, 1/σ or mask
  std::vector<std::size_t> first_op_;            // likewise
  std::vector<Op> zeros_;
};

FormulaProgram::FormulaProgram(const Declare& declare, const FormulaGraph& graph, std::uint32_t site, std::optional<std::int64_t> experts)
    : num_experts_(experts.value_or(1)), epsilon_(static_cast<float>(graph.epsilon)) {
  const auto specs = experts ? expert_parameters(graph.parameters, *experts) : graph.parameters;
  const auto gradients = gradients_of(graph);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    places_.push_back(declare(specs[i], gradients[i]));
    std::int64_t size = 1;
    for (const auto length : graph.parameters[i].shape) size *= length;
    sizes_.push_back(size);
  }
  Writer(*this, graph, gradients, site).write();
}

}  // namespace ffn::cpu
