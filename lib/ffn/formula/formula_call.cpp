#include "ffn/formula/formula_call.hpp"

#include <algorithm>

#include "ffn/base/json_document.hpp"
#include "ffn/kernels/expression.hpp"

namespace ffn {

namespace {

constexpr int kValue = -1;

struct Recorded {
  const CallOperands& operands;
  int of;  // kValue, or the operand by which the slope is taken
};

Symbol record_call(const Symbol* variable, const void* state) {
  const auto& [operands, of] = *static_cast<const Recorded*>(state);
  std::vector<Symbol> x;
  for (const auto& number : operands.numbers) x.push_back(number ? Symbol(*number) : *variable++);
  if (of == kValue) return operands.function->value(x.data());
  return operands.function->has_slope() ? operands.function->slope(x.data(), static_cast<std::size_t>(of)) : Symbol(0.0);
}

Expression recorded(const CallOperands& operands, int of) {
  const Recorded state{operands, of};
  const auto variables = std::count(operands.numbers.begin(), operands.numbers.end(), std::nullopt);
  Expression out = record(record_call, &state, static_cast<int>(variables));
  const ExpressionNode& last = out.nodes[out.count - 1];
  if (of != kValue && last.operation == Operation::constant && last.value == 0) out.count = 0;
  return out;
}

}  // namespace

std::shared_ptr<const FunctionCall> recorded_call(const CallOperands& operands) {
  auto out = std::make_shared<FunctionCall>();
  out->key = operands.function->name;
  for (const auto& number : operands.numbers) out->key += number ? " " + number_text(*number) : " *";
  out->value = recorded(operands, kValue);
  for (std::size_t i = 0; i < operands.numbers.size(); ++i) {
    if (!operands.numbers[i]) out->slopes.push_back(recorded(operands, static_cast<int>(i)));
  }
  return out;
}

double value_of_numbers(const CallOperands& operands) {
  double result = 0;
  run_in_double(recorded(operands, kValue), 1, nullptr, &result);
  return result;
}

}  // namespace ffn
