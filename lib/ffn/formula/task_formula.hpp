// A task's formula: what it computes of named inputs, in double, over many examples at once. No derivatives.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ffn/formula/formula_syntax.hpp"
#include "ffn/kernels/expression.hpp"

namespace ffn {

/// An input of an expression.
struct FormulaInput {
  std::string name;
  std::int64_t width;                  ///< numbers per example
  std::optional<std::int64_t> values;  ///< whole numbers 0 … values - 1; none for other numbers
  std::int64_t rows = 1;               ///< so many results in a row share one value; of more, x[any expression] is one of its columns
  std::optional<double> number = {};   ///< of a constant, which is given no values
};

/// Functions of tasks alone (formula/functions.hpp has the others): whole numbers bit by bit, and over columns.
struct TaskFunction {
  enum class Kind { bitwise, negation, reduction, concat, choice, pick } kind;
  const char* name;
  const char* doc;
  double (*pair)(double, double) = nullptr;  // of a reduction: over the columns, from `start` on
  double start = 0;
  double (*pick)(const double* columns, std::int64_t width, std::int64_t n) = nullptr;  // one of the columns, or NaN; 0 ≤ n < width
};

class TaskFormula {
 public:
  struct Step {
    std::shared_ptr<const Expression> element = nullptr;  ///< of a function element by element
    const TaskFunction* own = nullptr;                    ///< of another one; neither for an input or a number
    std::vector<std::size_t> operands;                    ///< steps before this one
    std::int64_t width = 1;
    std::optional<std::int64_t> values = {};
    bool whole = false;     ///< whole numbers, negative ones among them
    std::size_t input = 0;  ///< 1 + the input, else 0; its columns from `begin` on
    std::int64_t begin = 0, stride = 0, rows = 1;
    std::size_t strict = 0;  ///< so many operands, where one is NaN, make this NaN; in formulas with a chosen column alone
    double number = 0;

    bool is_number() const { return !element && !own && input == 0; }
  };

  /// Nothing, and `problem` with the place, for a text that is none or names something unknown.
  static std::optional<TaskFormula> compile(const std::string& text, const std::vector<FormulaInput>& inputs, std::string& problem);

  const std::vector<Step>& steps() const { return steps_; }  ///< the last one is the result
  bool chooses() const { return chooses_; }                  ///< columns by expressions, which may not be there
  std::int64_t width() const { return steps_.back().width; }
  /// The result is one of the whole numbers 0 … values() - 1, as far as can be said without computing it.
  std::optional<std::int64_t> values() const { return steps_.back().values; }

  /// `inputs[i]`: (count / rows, width of input i); `out`: (count, width()). What is undefined is NaN, and so is what follows from a column
  /// that an input does not have.
  void evaluate(const std::vector<const double*>& inputs, std::int64_t count, double* out) const;

 private:
  friend class TaskCompiler;
  void evaluate_block(const std::vector<const double*>& inputs, std::int64_t first, std::int64_t count, double* out) const;

  std::vector<Step> steps_;
  bool chooses_ = false;
};

/// Name and meaning of what a task's formula can call beside the functions of formula/functions.hpp.
std::vector<std::pair<std::string, std::string>> task_functions();

}  // namespace ffn
