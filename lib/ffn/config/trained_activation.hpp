// Activations with trained parameters: "z * sigmoid(beta * z)" with {"beta": 1}. A layer that has one is a formula layer.
#pragma once

#include <string>
#include <vector>

#include "ffn/base/json_document.hpp"

namespace ffn {

/// Puts a formula layer in the place of the FFN at `outer` if its activation has trained parameters: those of `activation_parameters`, or
/// those that a name of trained_activations() brings. A plain or gated FFN, or the experts of a mixture, become the formula that they are;
/// phi(…) is written out. `written_from` keeps the keys that this replaces: comparisons go by them.
void write_out_trained_activation(Document& document, const std::string& outer, std::vector<Problem>& problems);

/// The names that an activation, by name or as a formula, has beside `z` and `pi`: those of its trained parameters.
std::vector<std::string> names_in_activation(const std::string& activation);

}  // namespace ffn
