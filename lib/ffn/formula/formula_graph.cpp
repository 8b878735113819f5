#include "ffn/formula/formula_graph.hpp"

#include <algorithm>

#include "ffn/base/json_document.hpp"

namespace ffn {

namespace {

// The kept nodes, their inputs renumbered.
std::vector<FormulaNode> kept(std::vector<FormulaNode> nodes, const std::vector<bool>& keep) {
  std::vector<FormulaNode> out;
  std::vector<int> place(nodes.size(), -1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!keep[i]) continue;
    place[i] = static_cast<int>(out.size());
    for (int& input : nodes[i].inputs) input = place[static_cast<std::size_t>(input)];
    out.push_back(std::move(nodes[i]));
  }
  return out;
}

// The product that a node of this width depends on, if it is the only one between the node and x; else -1.
int only_product(const std::vector<FormulaNode>& nodes, int node, std::int64_t width) {
  std::vector<bool> reached(static_cast<std::size_t>(node) + 1);
  reached.back() = true;
  int found = -1;
  for (std::size_t i = reached.size(); i-- > 0;) {
    if (!reached[i]) continue;
    if (nodes[i].op == FormulaOp::input || (nodes[i].op == FormulaOp::product && (found >= 0 || nodes[i].width != width))) return -1;
    if (nodes[i].op == FormulaOp::product) {
      if (nodes[i].parameter < 0) return -1;
      found = static_cast<int>(i);
    } else
      for (const int input : nodes[i].inputs) reached[static_cast<std::size_t>(input)] = true;
  }
  return found;
}

}  // namespace

int FormulaNodes::add(FormulaNode made) {
  std::string id = std::to_string(static_cast<int>(made.op));
  for (const int input : made.inputs) id += " " + std::to_string(input);
  id += "|" + std::to_string(made.parameter) + "|" + std::to_string(made.begin) + "|" + std::to_string(made.kept) + "|" +
        std::to_string(made.width) + "|" + (made.phi ? made.phi->name : "") + "|" + (made.function ? made.function->key : "") +
        (made.transposed ? "|T|" : "|") + std::to_string(made.site) + "|" + number_text(made.number);
  const auto [known, is_new] = ids_.insert({id, static_cast<int>(nodes_.size())});
  if (is_new) nodes_.push_back(std::move(made));
  return known->second;
}

int FormulaNodes::number(double x, const std::string& text) {
  FormulaNode out{FormulaOp::number, {}, false, 1};
  out.number = x;
  out.text = text;
  out.width_text = "1";
  return add(std::move(out));
}

int FormulaNodes::elementwise(FormulaOp op, int a, int b, const std::string& text) {
  FormulaNode out{op, {a, b}, at(a).batched || at(b).batched, std::max(at(a).width, at(b).width)};
  out.text = text;
  out.matrix_rows = std::max(at(a).matrix_rows, at(b).matrix_rows);
  out.width_text = at(at(a).width >= at(b).width ? a : b).width_text;
  return add(std::move(out));
}

FormulaNode FormulaNodes::joined(const std::vector<int>& inputs, const std::string& text) const {
  FormulaNode out{FormulaOp::concat, inputs, false, 0};
  for (const int input : inputs) {
    out.batched = out.batched || at(input).batched;
    out.width += at(input).width;
    out.width_text += (out.width_text.empty() ? "" : " + ") + at(input).width_text;
  }
  out.text = text;
  return out;
}

FormulaNode FormulaNodes::like(int input, FormulaOp op, const std::string& text) const {
  const auto& in = at(input);
  FormulaNode out{op, {input}, in.batched, in.width};
  out.text = text;
  out.matrix_rows = in.matrix_rows;
  out.width_text = in.width_text;
  return out;
}

bool FormulaNodes::go_together(int a, int b) const {
  const FormulaNode &u = at(a), &v = at(b);
  if (u.matrix_rows == 0 && v.matrix_rows == 0) return u.width == v.width || u.width == 1 || v.width == 1;
  const auto fits = [](const FormulaNode& matrix, const FormulaNode& other) {
    return !other.batched && (other.width == 1 || (other.matrix_rows == matrix.matrix_rows && other.width == matrix.width));
  };
  return u.matrix_rows > 0 ? fits(u, v) : fits(v, u);
}

std::string FormulaNodes::width_of(int node) const {
  const auto& n = at(node);
  if (n.matrix_rows > 0) return "a matrix [" + n.width_text + "]";
  const std::string number = std::to_string(n.width);
  return n.width_text == number || n.width_text.empty() ? number : n.width_text + " = " + number;
}

std::vector<FormulaNode> needed_for(int result, std::vector<FormulaNode> nodes) {
  std::vector<bool> needed(nodes.size());
  needed[static_cast<std::size_t>(result)] = true;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const int input : nodes[i].inputs) needed[static_cast<std::size_t>(input)] = true;
  }
  return kept(std::move(nodes), needed);
}

std::vector<FormulaNode> with_joined_biases(std::vector<FormulaNode> nodes) {
  std::vector<int> uses(nodes.size());
  for (const auto& node : nodes) {
    for (const int input : node.inputs) ++uses[static_cast<std::size_t>(input)];
  }
  std::vector<bool> keep(nodes.size(), true);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op != FormulaOp::add) continue;
    for (const bool swapped : {false, true}) {
      const auto product = static_cast<std::size_t>(nodes[i].inputs[swapped]), vector = static_cast<std::size_t>(nodes[i].inputs[!swapped]);
      if (nodes[product].op != FormulaOp::product || nodes[product].bias >= 0 || uses[product] != 1) continue;
      if (nodes[vector].op != FormulaOp::parameter || nodes[vector].width != nodes[product].width) continue;
      const std::string text = nodes[i].text;
      nodes[product].bias = nodes[vector].parameter;
      nodes[i] = nodes[product];
      nodes[i].text = text;
      keep[product] = false;
      if (--uses[vector] == 0) keep[vector] = false;
      break;
    }
  }
  return kept(std::move(nodes), keep);
}

std::int64_t FormulaGraph::num_parameters() const {
  std::int64_t total = 0;
  for (const auto& parameter : parameters) {
    std::int64_t count = 1;
    for (const auto size : parameter.shape) count *= size;
    total += count;
  }
  return total;
}

std::int64_t FormulaGraph::flops() const {
  std::int64_t total = 0;
  for (const auto& node : nodes) {
    if (node.op == FormulaOp::product) total += 2 * nodes[static_cast<std::size_t>(node.inputs[0])].width * node.width;
  }
  return total;
}

bool FormulaGraph::drops() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const FormulaNode& node) { return node.op == FormulaOp::dropout; });
}

std::optional<HiddenLayer> hidden_layer(const FormulaGraph& graph) {
  const auto at = [&](int node) -> const FormulaNode& { return graph.nodes[static_cast<std::size_t>(node)]; };
  if (graph.nodes.back().op != FormulaOp::product || graph.nodes.back().parameter < 0) return std::nullopt;
  HiddenLayer out{graph.nodes.back().inputs[0]};
  const std::int64_t width = at(out.value).width;
  const int made = at(out.value).op == FormulaOp::dropout ? at(out.value).inputs[0] : out.value;
  out.pre_activation = only_product(graph.nodes, made, width);
  if (out.pre_activation >= 0 || at(made).op != FormulaOp::multiply) return out;
  const int gate = at(made).inputs[0], up = at(made).inputs[1];
  const int of_gate = only_product(graph.nodes, gate, width), of_up = only_product(graph.nodes, up, width);
  return of_gate >= 0 && of_up >= 0 ? HiddenLayer{out.value, of_gate, gate, up, of_up} : out;
}

std::vector<ParameterSpec> expert_parameters(std::vector<ParameterSpec> specs, std::int64_t num_experts) {
  for (auto& spec : specs) {
    spec.layout = spec.shape.size() == 2 ? Export::expert_linear : Export::expert_bias;
    spec.shape.insert(spec.shape.begin(), num_experts);
  }
  return specs;
}

}  // namespace ffn
