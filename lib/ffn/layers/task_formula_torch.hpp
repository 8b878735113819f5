// A task's formula (formula/task_formula.hpp) as tensor operations, so that a device evaluates it on what it draws.
#pragma once

#include "ffn/formula/task_formula.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

/// Numbers that evaluate() holds for each result; none where it may have other bits than TaskFormula::evaluate(), since each library rounds
/// some function in its own way.
std::optional<std::int64_t> numbers_held(const TaskFormula& formula);

/// (…, width) float64 of inputs (…, columns) float64, whose other dimensions broadcast to `shape`. Those of constants may be undefined, the
/// first may not.
Tensor evaluate(const TaskFormula& formula, const std::vector<Tensor>& inputs, torch::IntArrayRef shape);

}  // namespace ffn::modules
