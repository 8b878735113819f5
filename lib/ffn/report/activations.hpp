// Activation functions and their derivatives, drawn.
#pragma once

#include "ffn/kernels/activations.hpp"
#include "ffn/report/terminal_chart.hpp"

namespace ffn::pictures {

/// φ as a line and φ′ as dots; the same axes for all.
TerminalChart activation_chart(const Activation& activation);

/// φ(z) and φ′(z) in double.
double value_at(const Activation& activation, double z);
double slope_at(const Activation& activation, double z);

}  // namespace ffn::pictures
