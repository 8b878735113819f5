// What every step of a network computes, as text for the terminal.
#pragma once

#include "commands.hpp"
#include "ffn/inspect/trace.hpp"

namespace ffn::app {

/// The numbers of every step.
void print_trace(const inspect::Trace& trace, const inspect::Inputs& inputs, const ModelConfig& model);

}  // namespace ffn::app
