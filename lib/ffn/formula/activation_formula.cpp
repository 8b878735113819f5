#include "ffn/formula/activation_formula.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "ffn/base/suggest.hpp"
#include "ffn/formula/formula_syntax.hpp"

namespace ffn {

namespace {

constexpr double kTwoOverRootPi = 1.1283791670955126;

/// A value with its derivative by z; no derivative stands for 0. A truth has neither and is kept for where().
struct Dual {
  std::optional<Symbol> value, slope;
  std::optional<SymbolicTruth> truth;
  std::optional<double> number;  // of a constant
};

Dual constant(double x) { return {Symbol(x), std::nullopt, std::nullopt, x}; }
Dual with_slope(Symbol value, std::optional<Symbol> slope) { return {value, slope, std::nullopt, std::nullopt}; }

std::optional<Symbol> sum(const std::optional<Symbol>& a, const std::optional<Symbol>& b) {
  return a && b ? std::optional<Symbol>(*a + *b) : a ? a : b;
}
std::optional<Symbol> difference(const std::optional<Symbol>& a, const std::optional<Symbol>& b) {
  return b ? std::optional<Symbol>(a ? *a - *b : -*b) : a;
}
std::optional<Symbol> times(const std::optional<Symbol>& slope, Symbol factor) {
  return slope ? std::optional<Symbol>(*slope * factor) : std::nullopt;
}
// The chain rule; `outer` is worked out only where it is needed.
template <class F>
std::optional<Symbol> chained(const Dual& x, const F& outer) {
  return x.slope ? std::optional<Symbol>(*x.slope * outer()) : std::nullopt;
}

struct FunctionOfZ {
  const char* name;
  const char* doc;
  std::size_t operands;
  Dual (*of)(const std::vector<Dual>& x);
};

Dual chosen(SymbolicTruth condition, const Dual& yes, const Dual& no) {
  std::optional<Symbol> slope;
  if (yes.slope || no.slope) slope = select(condition, yes.slope ? *yes.slope : Symbol(0.0), no.slope ? *no.slope : Symbol(0.0));
  return with_slope(select(condition, *yes.value, *no.value), slope);
}

// min and max of NaN are NaN, whichever operand it is.
const FunctionOfZ kFunctionsOfZ[] = {
    {"sin", "sine", 1,
     [](const std::vector<Dual>& x) { return with_slope(sin_(*x[0].value), chained(x[0], [&] { return cos_(*x[0].value); })); }},
    {"cos", "cosine", 1,
     [](const std::vector<Dual>& x) { return with_slope(cos_(*x[0].value), chained(x[0], [&] { return -sin_(*x[0].value); })); }},
    {"exp", "e to the power of x", 1,
     [](const std::vector<Dual>& x) {
       const Symbol y = exp_(*x[0].value);
       return with_slope(y, times(x[0].slope, y));
     }},
    {"log", "natural logarithm; not a number below 0", 1,
     [](const std::vector<Dual>& x) { return with_slope(log_(*x[0].value), chained(x[0], [&] { return Symbol(1.0) / *x[0].value; })); }},
    {"log1p", "ln(1 + x)", 1,
     [](const std::vector<Dual>& x) {
       return with_slope(log1p_(*x[0].value), chained(x[0], [&] { return Symbol(1.0) / (Symbol(1.0) + *x[0].value); }));
     }},
    {"sqrt", "square root; not a number below 0", 1,
     [](const std::vector<Dual>& x) {
       const Symbol y = sqrt_(*x[0].value);
       return with_slope(y, chained(x[0], [&] { return Symbol(0.5) / y; }));
     }},
    {"abs", "absolute value; its slope at 0 is 0", 1,
     [](const std::vector<Dual>& x) {
       const Symbol v = *x[0].value;
       return with_slope(abs_(v), chained(x[0], [&] {
                           return select(v > Symbol(0.0), Symbol(1.0), select(v < Symbol(0.0), Symbol(-1.0), Symbol(0.0)));
                         }));
     }},
    {"sign", "-1, 0 or 1; its slope is 0", 1,
     [](const std::vector<Dual>& x) {
       const Symbol v = *x[0].value;
       return with_slope(select(v > Symbol(0.0), Symbol(1.0), select(v < Symbol(0.0), Symbol(-1.0), v)), std::nullopt);
     }},
    {"floor", "largest whole number that is not larger; its slope is 0", 1,
     [](const std::vector<Dual>& x) { return with_slope(floor_(*x[0].value), std::nullopt); }},
    {"erf", "error function", 1,
     [](const std::vector<Dual>& x) {
       const Symbol v = *x[0].value;
       return with_slope(erf_(v), chained(x[0], [&] { return Symbol(kTwoOverRootPi) * exp_(-(v * v)); }));
     }},
    {"min", "smaller one of two", 2,
     [](const std::vector<Dual>& x) { return chosen(*x[1].value == *x[1].value, chosen(*x[1].value < *x[0].value, x[1], x[0]), x[1]); }},
    {"max", "larger one of two", 2,
     [](const std::vector<Dual>& x) { return chosen(*x[1].value == *x[1].value, chosen(*x[1].value > *x[0].value, x[1], x[0]), x[1]); }},
    {"pow", "pow(a, n): a to the power of the number n", 2,
     [](const std::vector<Dual>& x) {
       const Symbol v = *x[0].value;
       const double n = *x[1].number;
       return with_slope(pow_(v, n), chained(x[0], [&] { return Symbol(n) * pow_(v, n - 1); }));
     }},
    {"clip", "clip(x, low, high); its slope beyond is 0", 3,
     [](const std::vector<Dual>& x) { return chosen(*x[0].value < *x[1].value, x[1], chosen(*x[0].value > *x[2].value, x[2], x[0])); }},
};

// Records what a formula computes; only inside record(). Throws a SyntaxProblem.
class Recorder {
 public:
  explicit Recorder(Symbol z) : z_(z) {}

  Dual value(const Syntax& tree) const {
    const Dual out = any(tree);
    if (!out.truth) return out;
    return with_slope(select(*out.truth, Symbol(1.0), Symbol(0.0)), std::nullopt);
  }

 private:
  [[noreturn]] static void fail(const Syntax& tree, std::string message) { throw SyntaxProblem{tree.begin, tree.end, std::move(message)}; }

  Dual any(const Syntax& tree) const {
    switch (tree.kind) {
      case Syntax::Kind::number:
        return constant(tree.number);
      case Syntax::Kind::name:
        if (tree.text == "z") return with_slope(z_, Symbol(1.0));
        if (tree.text == "pi") return constant(kPi);
        fail(tree, "nothing is called '" + tree.text + "'; an activation is a formula in z");
      case Syntax::Kind::negate: {
        if (tree.text != "-") fail(tree, "an activation has no operator '" + tree.text + "'");
        const Dual x = value(tree.parts[0]);
        if (x.number) return constant(-*x.number);
        return with_slope(-*x.value, x.slope ? std::optional<Symbol>(-*x.slope) : std::nullopt);
      }
      case Syntax::Kind::binary:
        return binary(tree);
      case Syntax::Kind::slice:
        fail(tree, "z is one number; it has no columns");
      case Syntax::Kind::call:
        return call(tree);
    }
    fail(tree, "not a formula");
  }

  Dual binary(const Syntax& tree) const {
    const Dual a = value(tree.parts[0]), b = value(tree.parts[1]);
    const std::string& op = tree.text;
    const Symbol x = *a.value, y = *b.value;
    const auto truth = [](SymbolicTruth t) { return Dual{std::nullopt, std::nullopt, t, std::nullopt}; };
    if (op == "+") return with_slope(x + y, sum(a.slope, b.slope));
    if (op == "-") return with_slope(x - y, difference(a.slope, b.slope));
    if (op == "*") return with_slope(x * y, sum(times(a.slope, y), times(b.slope, x)));
    if (op == "/") {
      const auto over = [&](const std::optional<Symbol>& s, Symbol by) { return s ? std::optional<Symbol>(*s / by) : std::nullopt; };
      const Symbol quotient = x / y;
      return with_slope(quotient, difference(over(a.slope, y), over(times(b.slope, quotient), y)));
    }
    if (op == "<") return truth(x < y);
    if (op == ">") return truth(x > y);
    if (op == "==") return truth(x == y);
    if (op == "<=") return truth(SymbolicTruth{select(x < y, Symbol(1.0), select(x == y, Symbol(1.0), Symbol(0.0))) == Symbol(1.0)});
    if (op == ">=") return truth(SymbolicTruth{select(x > y, Symbol(1.0), select(x == y, Symbol(1.0), Symbol(0.0))) == Symbol(1.0)});
    fail(tree, "an activation has no operator '" + op + "'");
  }

  Dual call(const Syntax& tree) const {
    const std::string& name = tree.text;
    std::vector<std::string> known{"where"};
    for (const auto& row : kFunctionsOfZ) known.emplace_back(row.name);
    for (const auto& row : activations()) known.emplace_back(row.name);
    const auto row = std::find_if(std::begin(kFunctionsOfZ), std::end(kFunctionsOfZ), [&](const FunctionOfZ& f) { return f.name == name; });
    const auto phi = std::find_if(activations().begin(), activations().end(), [&](const Activation& a) { return a.name == name; });
    const bool is_where = name == "where", is_row = row != std::end(kFunctionsOfZ), is_phi = phi != activations().end();
    if (!is_where && !is_row && !is_phi)
      throw SyntaxProblem{tree.begin, tree.begin + name.size(),
                          "no function is called '" + name + "'" + did_you_mean(name, known) + "; known: " + join(known)};
    const std::size_t operands = is_where ? 3 : is_row ? row->operands : 1;
    if (tree.parts.size() != operands)
      fail(tree, name + " takes " + std::to_string(operands) + (operands == 1 ? " value" : " values") + ", got " +
                     std::to_string(tree.parts.size()));
    if (is_where) {
      const Dual condition = any(tree.parts[0]);
      const SymbolicTruth holds = condition.truth ? *condition.truth : SymbolicTruth{(*condition.value == Symbol(0.0))};
      const Dual yes = value(tree.parts[1]), no = value(tree.parts[2]);
      return condition.truth ? chosen(holds, yes, no) : chosen(holds, no, yes);
    }
    std::vector<Dual> x;
    for (const auto& part : tree.parts) x.push_back(value(part));
    if (is_row) {
      if (name == "pow" && !x[1].number) fail(tree.parts[1], "the exponent has to be a number");
      return row->of(x);
    }
    return with_slope(phi->value(*x[0].value), chained(x[0], [&] { return phi->derivative(*x[0].value); }));
  }

  Symbol z_;
};

struct Compiled {
  std::string text;
  Expression program, slope_program;
  Activation row = {};
};

Symbol value_of(Symbol z, const void* tree) { return *Recorder(z).value(*static_cast<const Syntax*>(tree)).value; }
Symbol slope_of(Symbol z, const void* tree) {
  const Dual out = Recorder(z).value(*static_cast<const Syntax*>(tree));
  // 0 · z: NaN stays NaN, so that a run that diverged shows it.
  return out.slope ? *out.slope : z * Symbol(0.0);
}

bool names_z(const Syntax& tree) {
  return (tree.kind == Syntax::Kind::name && tree.text == "z") ||
         std::any_of(tree.parts.begin(), tree.parts.end(), [](const Syntax& part) { return names_z(part); });
}

std::unique_ptr<Compiled> compiled(const std::string& text, std::string& problem) {
  const auto parsed = parse_formula(text, Grammar::task);
  try {
    if (!parsed.tree) throw SyntaxProblem(*parsed.problem);
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

// Those that were asked for, by their text. A layer keeps a reference to its row.
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

std::string activation_problem(const std::string& text) {
  std::string problem;
  if (find_or_compile(text, problem)) return "";
  std::vector<std::string> names;
  for (const auto& row : activations()) names.emplace_back(row.name);
  return problem + (is_formula_name(text) ? did_you_mean(text, names) : "");
}

const Activation& activation_called(const std::string& text) {
  std::string problem;
  const Activation* row = find_or_compile(text, problem);
  if (!row) throw std::out_of_range("no activation " + text + ": " + problem);  // configs are checked before they get here
  return *row;
}

std::vector<std::pair<std::string, std::string>> activation_functions() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& row : kFunctionsOfZ) out.emplace_back(row.name, row.doc);
  out.emplace_back("where", "where(condition, a, b): a, or b where it does not hold");
  return out;
}

}  // namespace ffn
