// Ceilings of a task: for any model, and for linear models.
#pragma once

#include <optional>
#include <string>

#include "ffn/data/task.hpp"

namespace ffn {

/// Whether a plane has all vectors of one class on one side: vectors of up to 8 bits (-1 and 1), two classes. Exact: a perceptron ends
/// within (n + 1)·‖w‖² corrections, and with n ≤ 8 inputs integer weights up to 42 do (Muroga, Tsuboi and Baugh 1970).
bool is_linearly_separable(const ExampleSet& patterns, std::int64_t bits);

/// A sentence for people: of a task with a name what is known, of a task of few bits the share of the most frequent class and whether a
/// linear model can get all; empty for others.
std::string known_ceiling(const TaskConfig& task);

}  // namespace ffn
