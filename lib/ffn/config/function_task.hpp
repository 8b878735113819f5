// Inputs and compiled formula of a `function` task.
#pragma once

#include "ffn/config/task_config.hpp"
#include "ffn/formula/task_formula.hpp"

namespace ffn {

/// One named input. Its numbers in the formula: bits 0 and 1, integers from 0 on, or real numbers.
struct FunctionInput {
  enum class Kind { bit, integer, uniform, normal } kind = Kind::bit;
  std::string name;
  std::int64_t size = 1;       ///< numbers per example
  std::int64_t values = 2;     ///< of a bit or an integer
  double first = 0, last = 0;  ///< uniform on [first, last), or mean and standard deviation

  bool is_discrete() const { return kind == Kind::bit || kind == Kind::integer; }
  /// Numbers that the network sees: an integer is one-hot.
  std::int64_t width() const { return kind == Kind::integer ? size * values : size; }
};

struct FunctionTaskSpec {
  std::vector<FunctionInput> inputs;
  std::optional<TaskFormula> formula;   ///< of the label, or of the target
  std::optional<TaskFormula> features;  ///< of what the network sees; none: the inputs
  std::optional<TaskFormula> group;     ///< of the group that an example belongs to, if there are any
  std::int64_t outputs = 0;             ///< classes, or columns of the target

  std::int64_t input_width() const;
  /// How many different inputs there are; none where a number is real, or where there are 2^62 or more.
  std::optional<std::int64_t> patterns() const;
};

/// The fault of a config and the key to blame; no message if there is none.
struct FunctionProblem {
  const char* key = "inputs";
  std::string message;
};

FunctionProblem check_function(const FunctionConfig& config);
/// The spec of a config that was checked.
FunctionTaskSpec function_task(const FunctionConfig& config);

}  // namespace ffn
