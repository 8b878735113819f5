// Node lists of the formula compiler.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ffn/formula/formula.hpp"

namespace ffn {

/// The nodes of a formula while it is read, inputs first. The same operation on the same values is one node.
class FormulaNodes {
 public:
  int add(FormulaNode made);
  const FormulaNode& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }

  int number(double x, const std::string& text);
  /// One of + - * / on two values: of one width, or one of them of width 1.
  int elementwise(FormulaOp op, int a, int b, const std::string& text);

  /// concat of several values; not added yet.
  FormulaNode joined(const std::vector<int>& inputs, const std::string& text) const;
  /// An operation on one value that keeps its width; not added yet.
  FormulaNode like(int input, FormulaOp op, const std::string& text) const;

  /// Whether they can be operands of one operation: of one width, or one of them of width 1; a matrix goes with matrices of its shape and
  /// with what has width 1 and does not depend on x.
  bool go_together(int a, int b) const;

  /// "D = 128", the number alone, or "a matrix [D, F]".
  std::string width_of(int node) const;

  std::vector<FormulaNode> release() { return std::exchange(nodes_, {}); }

 private:
  std::vector<FormulaNode> nodes_;
  std::map<std::string, int> ids_;  // what makes a node another one → its place
};

/// The nodes that the one at `result` rests on, which comes last, their inputs renumbered.
std::vector<FormulaNode> needed_for(int result, std::vector<FormulaNode> nodes);

/// A vector that is added to a product which nothing else needs becomes the product's bias: one pass over memory less.
std::vector<FormulaNode> with_joined_biases(std::vector<FormulaNode> nodes);

}  // namespace ffn
