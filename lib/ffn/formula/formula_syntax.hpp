// Formulas of layers, activations and tasks as text: "(silu(x @ gate) * (x @ up)) @ down + b" → a tree that knows where its parts
// stand. `@` is as tight as `*` and `/`, all from left to right, as in Python. Which operators and names there are is for the reader
// of the tree to say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ffn {

/// Loosest first: |, ^, &, comparisons, + -, * / @ %, then -x and !x, then atom[low:high] or atom[index],
/// atom = number | name | name(expression, …) | (expression).
struct Syntax {
  enum class Kind { number, name, call, negate, binary, slice };
  Kind kind = Kind::number;
  std::string text;  ///< the name, the function's name, or the operator
  double number = 0;
  std::vector<Syntax> parts;       ///< operands or arguments; of a slice the sliced value
  std::vector<Syntax> low, high;   ///< of a slice, empty where not written, else one
  bool is_index = false;           ///< of a slice: x[low], one column
  std::size_t begin = 0, end = 0;  ///< [begin, end) of the text, parentheses around it included
  std::size_t at = 0;              ///< of a binary operator, where it stands
  bool in_parentheses = false;
};

/// Place and cause of an error in a text.
struct SyntaxProblem {
  std::size_t begin, end;
  std::string message;
};

struct ParsedFormula {
  std::optional<Syntax> tree;
  std::optional<SyntaxProblem> problem;  ///< if there is no tree
};

/// The number `pi` in the formulas of tasks and activations.
inline constexpr double kPi = 3.141592653589793;

/// Bounds of one expression: 4,096 bytes of ASCII, 256 parts, 64 levels.
ParsedFormula parse_formula(const std::string& text);

/// "column 30: message", the line, and marks below it: ~ under [begin, end), ^ at `at`. A long line is shown around the place.
std::string pointed_out(const std::string& source, std::size_t begin, std::size_t end, std::size_t at, const std::string& message);

/// Letters, digits and _, not a digit first, at most one dot between two such words.
bool is_formula_name(const std::string& name);

/// A size: whole numbers, D, F, + - * / and parentheses. Divisions have to come out even, the result lies in 1 … 2²⁰.
struct Size {
  std::int64_t value = 0;
  std::string problem;  ///< empty if there is a value
};
Size evaluate_size(const Syntax& tree, std::int64_t d_model, std::int64_t hidden_width, std::int64_t lowest = 1);
Size evaluate_size(const std::string& text, std::int64_t d_model, std::int64_t hidden_width);

}  // namespace ffn
