// What the compiler of formulas does with a list of nodes.
#pragma once

#include "ffn/config/formula.hpp"

namespace ffn {

/// The nodes that the one at `result` rests on, which comes last, their inputs renumbered.
std::vector<FormulaNode> needed_for(int result, std::vector<FormulaNode> nodes);

/// A vector that is added to a product which nothing else needs becomes the product's bias: one pass over memory less.
std::vector<FormulaNode> with_joined_biases(std::vector<FormulaNode> nodes);

}  // namespace ffn
