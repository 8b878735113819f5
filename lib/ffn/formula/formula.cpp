#include "ffn/formula/formula.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "ffn/base/json_document.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/formula/activation_formula.hpp"
#include "ffn/formula/formula_call.hpp"
#include "ffn/formula/formula_graph.hpp"
#include "ffn/formula/formula_parameters.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/formula/formula_text.hpp"

namespace ffn {

namespace {

std::string with_sizes(const std::vector<std::string>& texts) { return "[" + join(texts) + "]"; }

class Compiler {
 public:
  Compiler(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, std::string activation,
           std::vector<FormulaProblem>& problems)
      : text_(text), d_model_(d_model), hidden_width_(hidden_width), activation_(std::move(activation)), problems_(problems) {}

  FormulaGraph compile() {
    parameters_ = read_formula_parameters(text_, d_model_, hidden_width_, problems_);
    read_lets();
    key_ = "formula";
    source_ = &text_.formula;
    const auto tree = parsed(text_.formula);
    const int result = tree ? value(*tree) : kUnknown;
    if (result != kUnknown) check_result(*tree, result);
    check_all_used();
    FormulaGraph graph;
    graph.epsilon = text_.epsilon;
    if (!problems_.empty()) return graph;
    graph.nodes = with_joined_biases(needed_for(result, nodes_.release()));
    add_formula_parameters(text_, parameters_, graph, problems_);
    return graph;
  }

 private:
  static constexpr int kUnknown = -1;  // something in it is wrong, and has been said

  struct Let {
    std::string text;
    int node = kUnknown;
    enum class State { unseen, at_work, done } state = State::unseen;
  };

  void problem(const std::string& message) { problems_.push_back({key_, message}); }

  /// kUnknown: the value of what is wrong.
  int problem_at(std::size_t begin, std::size_t end, std::size_t at, const std::string& message, const std::string& hint = "") {
    problem(pointed_out(*source_, begin, end, at, message) + (hint.empty() ? "" : "\n    " + hint));
    return kUnknown;
  }
  int problem_at(const Syntax& tree, const std::string& message, const std::string& hint = "") {
    return problem_at(tree.begin, tree.end, tree.begin, message, hint);
  }
  int problem_at_operator(const Syntax& tree, const std::string& message, const std::string& hint = "") {
    return problem_at(tree.begin, tree.end, tree.at, message, hint);
  }
  int problem_at(const SyntaxProblem& wrong) { return problem_at(wrong.begin, wrong.end, wrong.begin, wrong.message); }

  std::optional<Syntax> parsed(const std::string& text) {
    auto result = parse_formula(text);
    if (result.problem) problem_at(*result.problem);
    return std::move(result.tree);
  }

  // ---- parameters and names

  void read_lets() {
    for (const auto& item : text_.let->items()) {
      key_ = "let." + item.key();
      if (!check_formula_name(item.key(), key_, problems_)) continue;
      if (find_parameter(item.key())) problem("a parameter has this name, too");
      else if (!item.value().is_string()) problem("expected an expression, got " + shortened(item.value()));
      else lets_[item.key()] = {item.value().get<std::string>()};
    }
    if (lets_.size() > 64) problems_.push_back({"let", "more than 64 intermediate names"});
  }

  FormulaParameter* find_parameter(const std::string& name) {
    for (auto& parameter : parameters_) {
      if (parameter.name == name) return &parameter;
    }
    return nullptr;
  }

  // ---- values

  int node(FormulaNode made) { return nodes_.add(std::move(made)); }
  std::string written(const Syntax& tree) const { return source_->substr(tree.begin, tree.end - tree.begin); }
  const FormulaNode& at(int node) const { return nodes_.at(node); }
  std::string width_of(int node) const { return nodes_.width_of(node); }
  int number(double x, const Syntax& tree) { return nodes_.number(x, written(tree)); }

  int value(const Syntax& tree) {
    switch (tree.kind) {
      case Syntax::Kind::number:
        return number(tree.number, tree);
      case Syntax::Kind::name:
        return name(tree);
      case Syntax::Kind::negate: {
        const int of = value(tree.parts[0]);
        if (of == kUnknown) return kUnknown;
        if (tree.text != "-") return problem_at(tree, "a layer has no operator '" + tree.text + "'");
        if (at(of).op == FormulaOp::number) return number(-at(of).number, tree);
        return nodes_.elementwise(FormulaOp::multiply, number(-1, tree), of, written(tree));
      }
      case Syntax::Kind::binary:
        if (tree.text == "@") return product(tree);
        return std::string("+-*/").find(tree.text) != std::string::npos ? arithmetic(tree) : function(tree);
      case Syntax::Kind::slice:
        return slice(tree);
      case Syntax::Kind::call:
        return call(tree);
    }
    return kUnknown;
  }

  // A value of rows or a vector, not a matrix.
  int row_value(const Syntax& tree) {
    const int of = value(tree);
    if (of == kUnknown || at(of).matrix_rows == 0) return of;
    return problem_at(tree, "'" + written(tree) + "' is " + width_of(of) +
                                "; it can stand to the right of @, in mean_all, and beside matrices of "
                                "its shape and numbers");
  }

  int name(const Syntax& tree) {
    const std::string& name = tree.text;
    if (name == "x") {
      FormulaNode out{FormulaOp::input, {}, true, d_model_};
      out.text = "x";
      out.width_text = "D";
      return node(std::move(out));
    }
    if (name == "D" || name == "F") return number(static_cast<double>(name == "D" ? d_model_ : hidden_width_), tree);
    if (const auto let = lets_.find(name); let != lets_.end()) return let_value(tree, let->second);
    if (FormulaParameter* parameter = find_parameter(name)) {
      parameter->used = true;
      FormulaNode out{FormulaOp::parameter, {}, false, parameter->shape[0]};
      out.parameter = static_cast<int>(parameter - parameters_.data());
      out.text = name;
      out.width_text = join(parameter->texts);
      if (!parameter->is_matrix()) return node(std::move(out));
      out.matrix_rows = parameter->shape[0];
      out.width *= parameter->shape[1];
      return node(std::move(out));
    }
    if (name == "pi") return number(kPi, tree);
    if (!text_.parameters->contains(name) && !text_.let->contains(name))  // else it was refused already
      problem_at(tree, "nothing is called '" + name + "'" + did_you_mean(name, known_names()),
                 "known: " + join(known_names()) + "; a parameter is declared with its shape, \"parameters\": {\"" + name + "\": [\"D\"]}");
    return kUnknown;
  }

  std::vector<std::string> known_names() const {
    std::vector<std::string> names{"x"};
    for (const auto& parameter : parameters_) names.push_back(parameter.name);
    for (const auto& [name, let] : lets_) names.push_back(name);
    return names;
  }

  int let_value(const Syntax& tree, Let& let) {
    if (let.state == Let::State::at_work) return problem_at(tree, "'" + tree.text + "' is made of itself");
    if (let.state == Let::State::done) return let.node;
    if (++let_depth_ > 64) return problem_at(tree, "more than 64 names that rest on each other");
    let.state = Let::State::at_work;
    const std::string key = key_;
    const std::string* source = source_;
    key_ = "let." + tree.text;
    source_ = &let.text;
    if (const auto parsed_let = parsed(let.text)) let.node = value(*parsed_let);
    key_ = key;
    source_ = source;
    --let_depth_;
    let.state = Let::State::done;
    return let.node;
  }

  // The right operand of @: a parameter or a value computed from parameters. kUnknown: no matrix, which has been said.
  int matrix(const Syntax& tree, bool& transposed) {
    const Syntax& right = tree.parts[1];
    Syntax named = right;
    const auto stem = right.text.substr(0, right.text.size() - std::min<std::size_t>(2, right.text.size()));
    transposed = right.kind == Syntax::Kind::name && !find_parameter(right.text) && right.text == stem + ".T" &&
                 (find_parameter(stem) || lets_.count(stem) > 0);
    if (transposed) named.text = stem;
    const int of = value(named);
    if (of == kUnknown || at(of).matrix_rows > 0) return of;
    if (right.kind == Syntax::Kind::name && at(of).op == FormulaOp::parameter)
      return problem_at_operator(
          tree, "'" + right.text + "' is a vector " + with_sizes({at(of).width_text}) + "; the right operand of @ must be a matrix");
    return problem_at_operator(tree, "the right operand of @ must be a matrix", parentheses_hint(tree.parts[0]));
  }

  int product(const Syntax& tree) {
    const Syntax& left = tree.parts[0];
    bool transposed = false;
    const int in = row_value(left), by = matrix(tree, transposed);
    if (in == kUnknown || by == kUnknown) return kUnknown;
    if (!at(in).batched) return problem_at_operator(tree, "the left side does not depend on x");
    std::int64_t first = at(by).matrix_rows, last = at(by).width / first;
    const auto comma = at(by).width_text.find(", ");
    std::string first_text = at(by).width_text.substr(0, comma), last_text = at(by).width_text.substr(comma + 2);
    if (transposed) std::swap(first, last), std::swap(first_text, last_text);
    if (at(in).width != first) {
      std::string better;
      for (const auto& other : parameters_) {
        if (other.is_matrix() && other.shape[0] == at(in).width)
          better += (better.empty() ? "" : ", ") + ("'" + other.name + "' " + with_sizes(other.texts));
      }
      const std::string hint = parentheses_hint(left);
      return problem_at_operator(tree,
                                 "'@': the left side ends in " + width_of(in) + ", '" + written(tree.parts[1]) + "' " +
                                     with_sizes({first_text, last_text}) + " begins with " + std::to_string(first),
                                 !hint.empty()    ? hint
                                 : better.empty() ? ""
                                                  : "matrices that begin so: " + better);
    }
    FormulaNode out{FormulaOp::product, {in}, true, last};
    out.transposed = transposed;
    out.parameter = at(by).parameter;  // of a computed matrix none
    if (out.parameter < 0) out.inputs.push_back(by);
    out.text = written(tree);
    out.width_text = last_text;
    return node(std::move(out));
  }

  // For x @ a * x @ b.
  static std::string parentheses_hint(const Syntax& left) {
    const bool is_product = left.text == "*" || left.text == "/" || left.text == "@";
    return left.kind == Syntax::Kind::binary && !left.in_parentheses && is_product
               ? "* / and @ are worked out from left to right: put products in parentheses"
               : "";
  }

  int arithmetic(const Syntax& tree) {
    const int a = value(tree.parts[0]), b = value(tree.parts[1]);
    if (a == kUnknown || b == kUnknown) return kUnknown;
    const char op = tree.text[0];
    if (at(a).op == FormulaOp::number && at(b).op == FormulaOp::number) {
      const double u = at(a).number, v = at(b).number;
      return number(op == '+' ? u + v : op == '-' ? u - v : op == '*' ? u * v : u / v, tree);
    }
    if (!nodes_.go_together(a, b))
      return problem_at_operator(tree, "'" + tree.text + "': the left side ends in " + width_of(a) + ", the right side in " + width_of(b),
                                 op == '*' || op == '/' ? parentheses_hint(tree.parts[0]) : "");
    return nodes_.elementwise(op == '+'   ? FormulaOp::add
                              : op == '-' ? FormulaOp::subtract
                              : op == '*' ? FormulaOp::multiply
                                          : FormulaOp::divide,
                              a, b, written(tree));
  }

  int slice(const Syntax& tree) {
    const int of = row_value(tree.parts[0]);
    if (of == kUnknown) return kUnknown;
    if (at(of).op == FormulaOp::number) return problem_at(tree, "a number has no last dimension");
    const auto bound = [&](const std::vector<Syntax>& written_bound, std::int64_t otherwise) {
      if (written_bound.empty()) return otherwise;
      const Size size = evaluate_size(written_bound[0], d_model_, hidden_width_, 0);
      if (size.problem.empty()) return size.value;
      problem_at(written_bound[0], "this bound " + size.problem);
      return std::int64_t{-1};
    };
    const std::int64_t low = bound(tree.low, 0), high = tree.is_index ? low + 1 : bound(tree.high, at(of).width);
    if (low < 0 || high < 0) return kUnknown;
    if (low >= high || high > at(of).width)
      return problem_at(tree, "[" + std::to_string(low) + ":" + std::to_string(high) + "] of a value that ends in " + width_of(of));
    FormulaNode out = nodes_.like(of, FormulaOp::slice, written(tree));
    out.begin = low;
    out.width = high - low;
    out.width_text = std::to_string(out.width);
    return node(std::move(out));
  }

  int call(const Syntax& tree) {
    const std::string& name = tree.text;
    const Activation* phi = name == "phi" ? &activation_called(activation_) : find_activation(name);
    const auto own = names_of_layer_functions();
    if (!phi && std::find(own.begin(), own.end(), name) == own.end()) return function(tree);
    if (name == "top_k") return top_k(tree);
    std::vector<int> arguments;
    const bool may_be_matrix = phi || name == "mean_all";
    for (const auto& part : tree.parts) arguments.push_back(may_be_matrix ? value(part) : row_value(part));
    if (std::find(arguments.begin(), arguments.end(), kUnknown) != arguments.end()) return kUnknown;
    if (name != "concat" && arguments.size() != 1)
      return problem_at(tree, name + " takes one value, got " + std::to_string(arguments.size()));
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (at(arguments[i]).op == FormulaOp::number) return problem_at(tree.parts[i], name + " of a number alone; write its value");
    }
    if (name == "concat") {
      if (arguments.size() < 2) return problem_at(tree, "concat joins two values or more");
      FormulaNode out = nodes_.joined(arguments, written(tree));
      return out.width <= (1 << 20) ? node(std::move(out)) : problem_at(tree, "wider than 2^20");
    }
    static const std::map<std::string, FormulaOp> operations{{"layer_norm", FormulaOp::layer_norm},
                                                             {"rms_norm", FormulaOp::rms_norm},
                                                             {"softmax", FormulaOp::softmax},
                                                             {"sum", FormulaOp::sum},
                                                             {"mean", FormulaOp::mean},
                                                             {"mean_all", FormulaOp::mean},
                                                             {"dropout", FormulaOp::dropout}};
    FormulaNode out = nodes_.like(arguments[0], phi ? FormulaOp::activation : operations.at(name), written(tree));
    out.phi = phi;
    if (name == "mean_all" && out.matrix_rows == 0)
      return problem_at(
          tree, "mean_all is over a whole matrix, and this ends in " + width_of(arguments[0]) + "; mean is over the last dimension");
    if (out.op == FormulaOp::sum || out.op == FormulaOp::mean) {
      out.matrix_rows = 0;
      out.width = 1;
      out.width_text = "1";
    }
    if (out.op == FormulaOp::dropout) {
      if (!out.batched) return problem_at(tree, "dropout acts on what depends on x");
      out.site = num_sites_++;
    }
    return node(std::move(out));
  }

  // A function of the table, element by element.
  int function(const Syntax& tree) {
    const ElementFunction* row = nullptr;
    try {
      row = &checked_function(tree, "a layer", names_of_layer_functions());
    } catch (const SyntaxProblem& problem) {
      return problem_at(problem);
    }
    FormulaNode out{FormulaOp::function, {}, false, 1};
    CallOperands operands{row, {}};
    for (const auto& part : tree.parts) {
      const int operand = value(part);
      if (operand == kUnknown) return kUnknown;
      const FormulaNode& in = at(operand);
      const bool is_number = in.op == FormulaOp::number;
      operands.numbers.push_back(is_number ? std::optional<double>(in.number) : std::nullopt);
      if (is_number) continue;
      if (std::any_of(out.inputs.begin(), out.inputs.end(), [&](int other) { return !nodes_.go_together(other, operand); }))
        return problem_at(tree, "'" + tree.text + "' of values that end in " + width_of(out.inputs[0]) + " and in " + width_of(operand));
      if (in.width >= out.width) out.width_text = in.width_text;
      out.width = std::max(out.width, in.width);
      out.matrix_rows = std::max(out.matrix_rows, in.matrix_rows);
      out.batched = out.batched || in.batched;
      out.inputs.push_back(operand);
    }
    if (out.inputs.empty()) return number(value_of_numbers(operands), tree);
    out.function = recorded_call(operands);
    out.text = written(tree);
    return node(std::move(out));
  }

  int top_k(const Syntax& tree) {
    if (tree.parts.size() != 2)
      return problem_at(tree, "top_k takes a value and how many of it stay, got " + std::to_string(tree.parts.size()));
    const int of = row_value(tree.parts[0]);
    if (of == kUnknown) return kUnknown;
    if (at(of).op == FormulaOp::number) return problem_at(tree.parts[0], "top_k of a number alone; write its value");
    const Size kept = evaluate_size(tree.parts[1], d_model_, hidden_width_);
    if (!kept.problem.empty() || kept.value > at(of).width)
      return problem_at(tree.parts[1], kept.problem.empty() ? "top_k keeps " + std::to_string(kept.value) + " of " + width_of(of)
                                                            : "how many stay " + kept.problem);
    FormulaNode out = nodes_.like(of, FormulaOp::top_k, written(tree));
    out.kept = kept.value;
    return node(std::move(out));
  }

  // ---- the whole

  void check_result(const Syntax& tree, int result) {
    if (!at(result).batched) problem_at(tree, "the result does not depend on x");
    else if (at(result).width != d_model_)
      problem_at(tree, "the result ends in " + width_of(result) + "; it has to end in D = " + std::to_string(d_model_));
  }

  // Only where all else is right: what could not be read may have used them.
  void check_all_used() {
    if (!problems_.empty()) return;
    for (const auto& parameter : parameters_) {
      key_ = "parameters." + parameter.name;
      if (!parameter.used) problem("the formula does not use it");
    }
    for (const auto& [name, let] : lets_) {
      key_ = "let." + name;
      if (let.state == Let::State::unseen) problem("the formula does not use it");
    }
  }

  const FormulaText& text_;
  std::int64_t d_model_, hidden_width_;
  std::string activation_;
  std::vector<FormulaProblem>& problems_;
  std::string key_;
  const std::string* source_ = nullptr;  // of the expression that is being read
  std::vector<FormulaParameter> parameters_;
  std::map<std::string, Let> lets_;
  FormulaNodes nodes_;
  int num_sites_ = 0, let_depth_ = 0;
};

}  // namespace

FormulaGraph compile_formula(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, const std::string& activation,
                             std::vector<FormulaProblem>& problems) {
  return Compiler(text, d_model, hidden_width, activation, problems).compile();
}

FormulaGraph compile_formula(const FormulaText& text, std::int64_t d_model, std::int64_t hidden_width, const std::string& activation) {
  std::vector<FormulaProblem> problems;
  auto graph = compile_formula(text, d_model, hidden_width, activation, problems);
  if (!problems.empty()) throw std::logic_error(problems[0].key + ": " + problems[0].message);  // configs are checked before they get here
  return graph;
}

}  // namespace ffn
