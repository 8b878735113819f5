#include "ffn/kernels/expression.hpp"

#include <stdexcept>
#include <vector>

namespace ffn {

namespace {

thread_local Expression* recording = nullptr;

int append(Operation operation, int a = -1, int b = -1, int c = -1, double value = 0) {
  if (!recording) throw std::logic_error("a symbol outside record()");
  if (recording->count == Expression::kMost) throw std::length_error("a formula of too many operations");
  recording->nodes[recording->count] = {operation, a, b, c, value};
  return recording->count++;
}

}  // namespace

bool is_constant(Symbol x, double value) {
  const ExpressionNode& node = recording->nodes[x.place];
  return node.operation == Operation::constant && node.value == value;
}

Symbol::Symbol(double constant) : place(append(Operation::constant, -1, -1, -1, constant)) {}

Symbol::Symbol(Place p) : place(p.place) {}
Symbol Symbol::at(int place) { return Symbol(Place{place}); }

Symbol operator+(Symbol a, Symbol b) { return Symbol::at(append(Operation::add, a.place, b.place)); }
Symbol operator-(Symbol a, Symbol b) { return Symbol::at(append(Operation::subtract, a.place, b.place)); }
Symbol operator*(Symbol a, Symbol b) {
  if (is_constant(a, 1)) return b;  // as the slope of a variable by itself is
  if (is_constant(b, 1)) return a;
  return Symbol::at(append(Operation::multiply, a.place, b.place));
}
Symbol operator/(Symbol a, Symbol b) { return Symbol::at(append(Operation::divide, a.place, b.place)); }
Symbol operator-(Symbol a) { return Symbol::at(append(Operation::negate, a.place)); }
SymbolicTruth operator<(Symbol a, Symbol b) { return {append(Operation::less, a.place, b.place)}; }
SymbolicTruth operator>(Symbol a, Symbol b) { return b < a; }
SymbolicTruth operator==(Symbol a, Symbol b) { return {append(Operation::equal, a.place, b.place)}; }
Symbol select(SymbolicTruth condition, Symbol yes, Symbol no) {
  return Symbol::at(append(Operation::select, condition.place, yes.place, no.place));
}
Symbol abs_(Symbol x) { return Symbol::at(append(Operation::absolute, x.place)); }
Symbol exp_(Symbol x) { return Symbol::at(append(Operation::exp, x.place)); }
Symbol tanh_(Symbol x) { return Symbol::at(append(Operation::tanh, x.place)); }
Symbol erf_(Symbol x) { return Symbol::at(append(Operation::erf, x.place)); }
Symbol log1p_(Symbol x) { return Symbol::at(append(Operation::log1p, x.place)); }
Symbol expm1_(Symbol x) { return Symbol::at(append(Operation::expm1, x.place)); }

Symbol remainder_(Symbol a, Symbol b) { return Symbol::at(append(Operation::remainder, a.place, b.place)); }
Symbol floor_(Symbol x) { return Symbol::at(append(Operation::floor, x.place)); }
Symbol sqrt_(Symbol x) { return Symbol::at(append(Operation::sqrt, x.place)); }
Symbol sin_(Symbol x) { return Symbol::at(append(Operation::sin, x.place)); }
Symbol cos_(Symbol x) { return Symbol::at(append(Operation::cos, x.place)); }
Symbol log_(Symbol x) { return Symbol::at(append(Operation::log, x.place)); }
Symbol pow_(Symbol x, Symbol exponent) { return Symbol::at(append(Operation::power, x.place, exponent.place)); }

Expression record(Symbol (*f)(Symbol)) {
  return record([](const Symbol* z, const void* state) { return (*static_cast<Symbol (*const*)(Symbol)>(state))(*z); },
                static_cast<const void*>(&f));
}

Expression record(Symbol (*f)(const Symbol*, const void*), const void* state, int num_variables) {
  Expression out;
  recording = &out;
  try {
    std::vector<Symbol> variables;
    for (int i = 0; i < num_variables; ++i) variables.push_back(Symbol::at(append(Operation::input, i)));
    const Symbol result = f(variables.data(), state);
    // The result is the last: a formula that is its own variable, or ends in an earlier value, gets a copy (· 1).
    if (result.place != out.count - 1) append(Operation::multiply, result.place, Symbol(1.0).place);
  } catch (...) {
    recording = nullptr;
    throw;
  }
  recording = nullptr;
  return out;
}

}  // namespace ffn
