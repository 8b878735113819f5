// Functions that formulas can call, element by element: one table for layers, activations and tasks, values and derivatives.
// To add one, add a row in functions.cpp; scripts/ffn_train_networks.py has PyTorch's function of the same name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ffn/formula/formula_syntax.hpp"
#include "ffn/kernels/activations.hpp"

namespace ffn {

struct ElementFunction {
  const char* name;  ///< or the operator
  const char* doc;
  std::size_t operands;
  Symbol (*of)(const Symbol* x);
  Symbol (*partial)(const Symbol* x, std::size_t i);  ///< ∂f/∂x[i]; none where it is 0 everywhere
  const Activation* phi = nullptr;                    ///< of an activation of the catalogue: the row, and no functions above

  // Inside record().
  Symbol value(const Symbol* x) const { return phi ? phi->value(*x) : of(x); }
  bool has_slope() const { return phi || partial; }
  Symbol slope(const Symbol* x, std::size_t i) const { return phi ? phi->derivative(*x) : partial(x, i); }
};

/// Operators first, then functions, then the activations of the catalogue.
const std::vector<ElementFunction>& element_functions();
/// The function of that name; none for an unknown one.
const ElementFunction* find_function(const std::string& name);
/// The function of a call or an operator, with as many operands as it takes. Throws a SyntaxProblem; `where` ("an activation") has no
/// other operators, and the functions `besides`.
const ElementFunction& checked_function(const Syntax& tree, const std::string& where, const std::vector<std::string>& besides = {});

}  // namespace ffn
