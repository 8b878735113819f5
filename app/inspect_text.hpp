// A look inside a run as text for the terminal.
#pragma once

#include "commands.hpp"
#include "ffn/inspect/inspection.hpp"
#include "ffn/inspect/trace.hpp"

namespace ffn::app {

/// Tables of every layer and of the neurons that write most; at the end the next commands.
void print_inspection(const inspect::Inspection& inspection, const std::string& run, const ModelConfig& model, const CommonOptions& common);

/// A network of one or two numbers over all of its input: a curve, or a plane of blocks with validation examples, so many
/// columns wide where there is room.
void print_surface(const inspect::Surface& surface, const CommonOptions& common, int columns = 48);

/// The neurons of each block that write most, a line each.
void print_neurons(const inspect::Inspection& inspection, const CommonOptions& common);

/// Mean activations by input: a row is an input, a column a neuron.
void print_patterns(const inspect::Inspection& inspection);

/// One neuron and its examples, as shaded text. Throws UsageError for an unknown name.
void print_neuron(const inspect::Inspection& inspection, const std::string& name);

/// The numbers of every step of a network.
void print_trace(const inspect::Trace& trace, const inspect::Inputs& inputs, const ModelConfig& model);

/// One of nine heights for a share of the largest; blank for next to nothing.
const char* share_bar(double share);
/// "0.3", "−0.1"
std::string cosine_text(double cosine);

/// "positionwise 8 → 32 → 8, relu"
std::string layer_text(const ModelConfig& model);

/// Lines that go on where they began; a heading stands below an empty line.
void print_paragraph(const std::string& text);
void print_heading(const std::string& text);

}  // namespace ffn::app
