#include "ffn/formula/functions.hpp"

#include <algorithm>

#include "ffn/base/suggest.hpp"
#include "ffn/formula/formula.hpp"

namespace ffn {

namespace {

constexpr double kTwoOverRootPi = 1.1283791670955126;

// A truth as a number: 1 or 0.
Symbol as_number(SymbolicTruth truth) { return Symbol::at(truth.place); }
Symbol where(Symbol condition, Symbol yes, Symbol no) { return select(SymbolicTruth{condition.place}, yes, no); }
Symbol less(Symbol a, Symbol b) { return as_number(a < b); }
Symbol equal(Symbol a, Symbol b) { return as_number(a == b); }
// The slope of min or max by its operand i, PyTorch's: halves where both are equal.
Symbol share(const Symbol* x, std::size_t i, Symbol first) { return where(equal(x[0], x[1]), 0.5, i == 0 ? first : Symbol(1.0) - first); }

// NaN is the larger and the smaller of two, whichever operand it is.
Symbol is_smaller(const Symbol* x) { return where(equal(x[1], x[1]), where(less(x[1], x[0]), 0.0, 1.0), 0.0); }
Symbol is_larger(const Symbol* x) { return where(equal(x[1], x[1]), where(less(x[0], x[1]), 0.0, 1.0), 0.0); }

using X = const Symbol*;
using I = std::size_t;

// name, meaning, operands, value, ∂value/∂x[i]. NaN comes out as NaN; a comparison with it does not hold.
const ElementFunction kRows[] = {
    // clang-format off
    {"+", "sum", 2, [](X x) { return x[0] + x[1]; }, [](X, I) { return Symbol(1.0); }},
    {"-", "difference", 2, [](X x) { return x[0] - x[1]; }, [](X, I i) { return Symbol(i == 0 ? 1.0 : -1.0); }},
    {"*", "product", 2, [](X x) { return x[0] * x[1]; }, [](X x, I i) { return x[1 - i]; }},
    {"/", "quotient", 2, [](X x) { return x[0] / x[1]; },
     [](X x, I i) { return i == 0 ? Symbol(1.0) / x[1] : -(x[0] / x[1]) / x[1]; }},
    {"%", "remainder, with the sign of the divisor", 2, [](X x) { return remainder_(x[0], x[1]); },
     [](X x, I i) { return i == 0 ? Symbol(1.0) : -floor_(x[0] / x[1]); }},
    {"==", "1 where it holds, else 0; its slope is 0", 2, [](X x) { return equal(x[0], x[1]); }, nullptr},
    {"!=", "likewise", 2, [](X x) { return Symbol(1.0) - equal(x[0], x[1]); }, nullptr},
    {"<", "likewise", 2, [](X x) { return less(x[0], x[1]); }, nullptr},
    {"<=", "likewise", 2, [](X x) { return less(x[0], x[1]) + equal(x[0], x[1]); }, nullptr},
    {">", "likewise", 2, [](X x) { return less(x[1], x[0]); }, nullptr},
    {">=", "likewise", 2, [](X x) { return less(x[1], x[0]) + equal(x[0], x[1]); }, nullptr},
    {"sin", "sine", 1, [](X x) { return sin_(x[0]); }, [](X x, I) { return cos_(x[0]); }},
    {"cos", "cosine", 1, [](X x) { return cos_(x[0]); }, [](X x, I) { return -sin_(x[0]); }},
    {"tan", "tangent", 1, [](X x) { return sin_(x[0]) / cos_(x[0]); },
     [](X x, I) { return Symbol(1.0) / (cos_(x[0]) * cos_(x[0])); }},
    {"exp", "e to the power of x", 1, [](X x) { return exp_(x[0]); }, [](X x, I) { return exp_(x[0]); }},
    {"log", "natural logarithm; not a number below 0", 1, [](X x) { return log_(x[0]); }, [](X x, I) { return Symbol(1.0) / x[0]; }},
    {"log1p", "ln(1 + x)", 1, [](X x) { return log1p_(x[0]); }, [](X x, I) { return Symbol(1.0) / (Symbol(1.0) + x[0]); }},
    {"sqrt", "square root; not a number below 0", 1, [](X x) { return sqrt_(x[0]); }, [](X x, I) { return Symbol(0.5) / sqrt_(x[0]); }},
    {"abs", "absolute value; its slope at 0 is 0", 1, [](X x) { return abs_(x[0]); },
     [](X x, I) { return less(0.0, x[0]) - less(x[0], 0.0); }},
    {"sign", "-1, 0 or 1; its slope is 0", 1, [](X x) { return where(less(0.0, x[0]), 1.0, where(less(x[0], 0.0), -1.0, x[0])); }, nullptr},
    {"floor", "largest whole number that is not larger; its slope is 0", 1, [](X x) { return floor_(x[0]); }, nullptr},
    {"stop", "x as it is; its slope is 0", 1, [](X x) { return x[0]; }, nullptr},
    {"erf", "error function", 1, [](X x) { return erf_(x[0]); }, [](X x, I) { return Symbol(kTwoOverRootPi) * exp_(-(x[0] * x[0])); }},
    {"pow", "pow(a, n): a to the power of n", 2, [](X x) { return pow_(x[0], x[1]); },
     [](X x, I i) {
       const Symbol zero = 0.0;
       if (i == 0) return where(equal(x[1], zero), zero, x[1] * pow_(x[0], x[1] - Symbol(1.0)));
       return where(equal(x[0], zero), zero, pow_(x[0], x[1]) * log_(x[0]));
     }},
    {"min", "smaller one of two", 2,
     [](X x) { return where(is_smaller(x), x[0], x[1]); }, [](X x, I i) { return share(x, i, is_smaller(x)); }},
    {"max", "larger one of two", 2,
     [](X x) { return where(is_larger(x), x[0], x[1]); }, [](X x, I i) { return share(x, i, is_larger(x)); }},
    {"clip", "clip(x, low, high); its slope beyond is 0", 3,
     [](X x) { return where(less(x[0], x[1]), x[1], where(less(x[2], x[0]), x[2], x[0])); },
     [](X x, I i) {
       const Symbol below = less(x[0], x[1]), above = where(below, 0.0, less(x[2], x[0]));
       return i == 1 ? below : i == 2 ? above : Symbol(1.0) - below - above;
     }},
    {"where", "where(condition, a, b): a, or b where it is 0", 3, [](X x) { return where(x[0], x[1], x[2]); },
     [](X x, I i) { return i == 0 ? Symbol(0.0) : i == 1 ? where(x[0], 1.0, 0.0) : where(x[0], 0.0, 1.0); }},
    // clang-format on
};

}  // namespace

const std::vector<ElementFunction>& element_functions() {
  static const std::vector<ElementFunction> all = [] {
    std::vector<ElementFunction> rows(std::begin(kRows), std::end(kRows));
    for (const auto& phi : activations()) rows.push_back({phi.name, phi.formula, 1, nullptr, nullptr, &phi});
    return rows;
  }();
  return all;
}

const ElementFunction* find_function(const std::string& name) {
  const auto& rows = element_functions();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const ElementFunction& each) { return each.name == name; });
  return row == rows.end() ? nullptr : &*row;
}

const ElementFunction& checked_function(const Syntax& tree, const std::string& where, const std::vector<std::string>& besides) {
  const ElementFunction* row = find_function(tree.text);
  if (!row && tree.kind != Syntax::Kind::call) {
    throw SyntaxProblem{tree.begin, tree.end,
                        where + " has no operator '" + tree.text + "'" + (tree.text == "^" ? "; a power is written pow(a, n)" : "")};
  }
  const auto of_layers = names_of_layer_functions();
  if (!row && besides != of_layers && std::find(of_layers.begin(), of_layers.end(), tree.text) != of_layers.end())
    throw SyntaxProblem{
        tree.begin, tree.begin + tree.text.size(),
        tree.text + " takes a token's whole vector, and " + where + " is a formula of single numbers; it is for ffn.formula"};
  if (!row) {
    std::vector<std::string> known = besides;
    for (const auto& each : element_functions()) known.emplace_back(each.name);
    const std::string guess = did_you_mean(tree.text, known);
    throw SyntaxProblem{tree.begin, tree.begin + tree.text.size(),
                        "no function is called '" + tree.text + "'" + (guess.empty() ? "; `ffn-train list functions` shows all" : guess)};
  }
  if (tree.parts.size() != row->operands)
    throw SyntaxProblem{tree.begin, tree.end,
                        tree.text + " takes " + std::to_string(row->operands) + (row->operands == 1 ? " value" : " values") + ", got " +
                            std::to_string(tree.parts.size())};
  return *row;
}

}  // namespace ffn
