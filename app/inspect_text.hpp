// A look inside a run as text for the terminal.
#pragma once

#include "commands.hpp"
#include "ffn/inspect/trace.hpp"

namespace ffn::app {

/// Tables of every layer, and its most telling neurons; at the end what to ask next about the run.
void print_inspection(const inspect::Inspection& inspection, const std::string& run, const ModelConfig& model, const CommonOptions& common);

/// One neuron with what it fires on, as shaded text. Throws UsageError for a name that none has.
void print_neuron(const inspect::Inspection& inspection, const std::string& name);

/// The numbers of every step.
void print_trace(const inspect::Trace& trace, const inspect::Inputs& inputs, const ModelConfig& model);

/// "positionwise 8 → 32 → 8, relu"
std::string layer_text(const ModelConfig& model);

}  // namespace ffn::app
