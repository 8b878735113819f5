// An activation as a formula in z: "z * sin(z)". Its derivative is worked out (forward mode, over recorded operations).
#pragma once

#include <string>

#include "ffn/kernels/activations.hpp"

namespace ffn {

/// Empty if the text names an activation of the catalogue or is a formula in z; else what is wrong, with its place.
std::string activation_problem(const std::string& text);

/// The catalogue's row of that name, or the formula's, which lives as long as the program. Throws std::out_of_range with the problem.
const Activation& activation_called(const std::string& text);

}  // namespace ffn
