// A formula of a few variables as data: an activation's row or a function of formulas, recorded operation by operation, so that it
// can be computed where the row's own kernels cannot go: on a GPU, in any precision (layers/activation_torch.hpp). Torch-free.
// Plain functions and types: this header is part of files that are compiled once per instruction set.
#pragma once

#include <cstddef>

namespace ffn {

enum class Operation {
  input,  ///< the variable `a`
  constant,
  add,
  subtract,
  multiply,
  divide,
  remainder,  ///< with the sign of the divisor
  negate,
  absolute,
  floor,
  sqrt,
  sin,
  cos,
  log,
  power,
  exp,
  tanh,
  erf,
  log1p,
  expm1,
  less,
  equal,
  select
};

/// One operation. Operands are places of earlier ones; select is a ? b : c.
struct ExpressionNode {
  Operation operation;
  int a, b, c;
  double value;  ///< of a constant
};

/// Operations in order, the last one the result.
struct Expression {
  static constexpr int kMost = 256;
  ExpressionNode nodes[kMost];
  int count = 0;
};

/// A value or a truth that is being recorded: the place of the operation that makes it. Only inside record().
struct Symbol {
  Symbol(double constant);  // NOLINT(google-explicit-constructor): numbers stand in formulas as they are
  static Symbol at(int place);
  int place;

 private:
  struct Place {
    int place;
  };
  explicit Symbol(Place p);
};
struct SymbolicTruth {
  int place;
};

/// Whether it is that number, whatever the variables are.
bool is_constant(Symbol x, double value);

Symbol operator+(Symbol a, Symbol b);
Symbol operator-(Symbol a, Symbol b);
Symbol operator*(Symbol a, Symbol b);
Symbol operator/(Symbol a, Symbol b);
Symbol operator-(Symbol a);
SymbolicTruth operator<(Symbol a, Symbol b);
SymbolicTruth operator>(Symbol a, Symbol b);
SymbolicTruth operator==(Symbol a, Symbol b);
Symbol select(SymbolicTruth condition, Symbol yes, Symbol no);
Symbol abs_(Symbol x);
Symbol exp_(Symbol x);
Symbol tanh_(Symbol x);
Symbol erf_(Symbol x);
Symbol log1p_(Symbol x);
Symbol expm1_(Symbol x);
Symbol remainder_(Symbol a, Symbol b);
Symbol floor_(Symbol x);
Symbol sqrt_(Symbol x);
Symbol sin_(Symbol x);
Symbol cos_(Symbol x);
Symbol log_(Symbol x);
Symbol pow_(Symbol x, Symbol exponent);

/// The operations of f on its variables. Throws std::length_error for a formula of more than Expression::kMost operations.
Expression record(Symbol (*f)(Symbol));
/// The same of a function of several variables with state.
Expression record(Symbol (*f)(const Symbol* variables, const void* state), const void* state, int num_variables = 1);

/// y[i] = program(inputs[0][i], inputs[1][i], …) in double, by the standard library: for tasks, gradient checks and pictures. y may be an
/// input.
void run_in_double(const Expression& program, std::size_t n, const double* const* inputs, double* y);

}  // namespace ffn
