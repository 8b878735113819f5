// A function's call in a layer, recorded with the numbers among its operands.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ffn/formula/formula.hpp"
#include "ffn/formula/functions.hpp"

namespace ffn {

struct CallOperands {
  const ElementFunction* function;
  std::vector<std::optional<double>> numbers;  ///< by operand; none where it is a value of the layer
};

/// Its value and its slopes by the operands that are no numbers.
std::shared_ptr<const FunctionCall> recorded_call(const CallOperands& operands);
/// The result where all operands are numbers.
double value_of_numbers(const CallOperands& operands);

}  // namespace ffn
