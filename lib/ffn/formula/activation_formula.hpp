// An activation as a formula in z: "z * sin(z)". Its derivative is worked out (forward mode, over recorded operations).
#pragma once

#include <string>
#include <vector>

#include "ffn/kernels/activations.hpp"

namespace ffn {

/// Empty if the text names an activation of the catalogue or is a formula in z and of trained `parameters`; else what is wrong, with its
/// place.
std::string activation_problem(const std::string& text, const std::vector<std::string>& parameters = {});

/// An activation with a parameter that is trained: one number for the layer, unless the config says one per unit.
struct TrainedActivation {
  const char *name, *formula, *parameter;
  double start;
  const char* source;
};
const std::vector<TrainedActivation>& trained_activations();

/// The catalogue's row of that name, or the formula's, which lives as long as the program. Throws std::out_of_range with the problem.
const Activation& activation_called(const std::string& text);

}  // namespace ffn
