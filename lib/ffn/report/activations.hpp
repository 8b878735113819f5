// Activation functions and their derivatives, drawn.
#pragma once

#include "ffn/kernels/activations.hpp"
#include "ffn/report/terminal_chart.hpp"

namespace ffn::report {

/// φ as a line and φ′ as dots; the same axes for all.
TerminalChart activation_chart(const Activation& activation);

}  // namespace ffn::report
