#include "ffn/formula/activation_formula.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "ffn/base/suggest.hpp"
#include "ffn/formula/formula_syntax.hpp"
#include "ffn/formula/functions.hpp"

namespace ffn {

namespace {

/// A value with its derivative by z; no derivative stands for 0.
struct Dual {
  Symbol value;
  std::optional<Symbol> slope;
};

// Records what a formula computes; only inside record(). Throws a SyntaxProblem.
class Recorder {
 public:
  explicit Recorder(Symbol z) : z_(z) {}

  Dual value(const Syntax& tree) const {
    switch (tree.kind) {
      case Syntax::Kind::number:
        return {Symbol(tree.number), std::nullopt};
      case Syntax::Kind::name:
        if (tree.text == "z") return {z_, Symbol(1.0)};
        if (tree.text == "pi") return {Symbol(kPi), std::nullopt};
        fail(tree, "nothing is called '" + tree.text + "'; an activation is a formula in z. A trained parameter needs a start: " +
                       "activation_parameters={\"" + tree.text + "\": 1}");
      case Syntax::Kind::negate: {
        if (tree.text != "-") fail(tree, "an activation has no operator '" + tree.text + "'");
        const Dual x = value(tree.parts[0]);
        return {-x.value, x.slope ? std::optional<Symbol>(-*x.slope) : std::nullopt};
      }
      case Syntax::Kind::slice:
        fail(tree, "z is one number; it has no columns");
      case Syntax::Kind::binary:
      case Syntax::Kind::call:
        return call(tree);
    }
    fail(tree, "not a formula");
  }

 private:
  [[noreturn]] static void fail(const Syntax& tree, std::string message) { throw SyntaxProblem{tree.begin, tree.end, std::move(message)}; }

  // The chain rule over the operands that depend on z.
  Dual call(const Syntax& tree) const {
    const ElementFunction* function = &checked_function(tree, "an activation");
    std::vector<Symbol> x;
    std::vector<std::optional<Symbol>> slopes;
    for (const auto& part : tree.parts) {
      const Dual operand = value(part);
      x.push_back(operand.value);
      slopes.push_back(operand.slope);
    }
    Dual out{function->value(x.data()), std::nullopt};
    for (std::size_t i = 0; function->has_slope() && i < x.size(); ++i) {
      if (!slopes[i]) continue;
      const Symbol outer = function->slope(x.data(), i);
      if (is_constant(outer, 0)) continue;
      const Symbol term = *slopes[i] * outer;
      out.slope = out.slope ? *out.slope + term : term;
    }
    return out;
  }

  Symbol z_;
};

struct Compiled {
  std::string text;
  Expression program, slope_program;
  Activation row = {};
};

Symbol value_of(const Symbol* z, const void* tree) { return Recorder(*z).value(*static_cast<const Syntax*>(tree)).value; }
Symbol slope_of(const Symbol* z, const void* tree) {
  const Dual out = Recorder(*z).value(*static_cast<const Syntax*>(tree));
  // 0 · z: NaN stays NaN, so that a run that diverged shows it.
  return out.slope ? *out.slope : *z * Symbol(0.0);
}

bool names_z(const Syntax& tree) {
  return (tree.kind == Syntax::Kind::name && tree.text == "z") ||
         std::any_of(tree.parts.begin(), tree.parts.end(), [](const Syntax& part) { return names_z(part); });
}

// A trained parameter is some number.
void put_numbers(Syntax& tree, const std::vector<std::string>& parameters) {
  if (tree.kind == Syntax::Kind::name && std::find(parameters.begin(), parameters.end(), tree.text) != parameters.end()) {
    tree.kind = Syntax::Kind::number;
    tree.number = 1;
  }
  for (auto& part : tree.parts) put_numbers(part, parameters);
}

std::unique_ptr<Compiled> compiled(const std::string& text, std::string& problem, const std::vector<std::string>& parameters = {}) {
  auto parsed = parse_formula(text);
  try {
    if (!parsed.tree) throw SyntaxProblem(*parsed.problem);
    put_numbers(*parsed.tree, parameters);
    if (!names_z(*parsed.tree))
      throw SyntaxProblem{0, text.size(), "an activation is a name of `ffn-train list activations` or a formula in z"};
    auto out = std::make_unique<Compiled>();
    out->text = text;
    out->program = record(value_of, &*parsed.tree);
    out->slope_program = record(slope_of, &*parsed.tree);
    out->row.name = out->row.formula = out->text.c_str();
    out->row.source = "a formula of the config";
    out->row.program = &out->program;
    out->row.slope_program = &out->slope_program;
    return out;
  } catch (const SyntaxProblem& at) {
    problem = pointed_out(text, at.begin, at.end, at.begin, at.message);
  } catch (const std::length_error&) {
    problem = "the formula and its derivative take more than " + std::to_string(Expression::kMost) + " operations";
  }
  return nullptr;
}

// Compiled once per text and kept: layers hold references.
const Activation* find_or_compile(const std::string& text, std::string& problem) {
  for (const auto& row : activations()) {
    if (row.name == text) return &row;
  }
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Compiled>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return &found->second->row;
  auto made = compiled(text, problem);
  return made ? &(known[text] = std::move(made))->row : nullptr;
}

}  // namespace

std::string activation_problem(const std::string& text, const std::vector<std::string>& parameters) {
  std::string problem;
  if (parameters.empty() ? find_or_compile(text, problem) != nullptr : compiled(text, problem, parameters) != nullptr) return "";
  std::vector<std::string> names;
  for (const auto& row : activations()) names.emplace_back(row.name);
  for (const auto& row : trained_activations()) names.emplace_back(row.name);
  return problem + (is_formula_name(text) ? did_you_mean(text, names) : "");
}

const std::vector<TrainedActivation>& trained_activations() {
  static const std::vector<TrainedActivation> all{
      {"prelu", "where(z > 0, z, a * z)", "a", 0.25, "He et al. 2015, arXiv:1502.01852"},
      {"swish_beta", "z * sigmoid(beta * z)", "beta", 1, "Ramachandran et al. 2017, arXiv:1710.05941"},
      {"snake", "z + pow(sin(a * z), 2) / a", "a", 1, "Ziyin et al. 2020, arXiv:2006.08195"},
  };
  return all;
}

const Activation& activation_called(const std::string& text) {
  std::string problem;
  const Activation* row = find_or_compile(text, problem);
  if (!row) throw std::out_of_range("no activation " + text + ": " + problem);  // configs are checked before they get here
  return *row;
}

}  // namespace ffn
