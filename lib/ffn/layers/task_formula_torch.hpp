// A task's formula (formula/task_formula.hpp) as tensor operations, so that a device evaluates it on what it draws.
#pragma once

#include "ffn/formula/task_formula.hpp"
#include "ffn/layers/run_module_torch.hpp"

namespace ffn::modules {

/// Whether evaluate() gives the bits of TaskFormula::evaluate(): no function of it is rounded in each library's own way.
bool is_exact(const TaskFormula& formula);

/// Numbers that evaluate() holds for each result.
std::int64_t numbers_held(const TaskFormula& formula);

/// (…, width) float64 of inputs (…, columns) float64, whose other dimensions broadcast to `shape`. Those of constants may be undefined, the
/// first may not.
Tensor evaluate(const TaskFormula& formula, const std::vector<Tensor>& inputs, torch::IntArrayRef shape);

}  // namespace ffn::modules
