// An inspection as one JSON document, and a trace likewise.
#pragma once

#include "ffn/base/json.hpp"
#include "ffn/inspect/trace.hpp"

namespace ffn::inspect {

/// Every number with the name that it has in the structs; shares from 0 to 1.
/// With the three strongest examples of each neuron.
Json to_json(const Inspection& inspection);
/// One neuron with all its examples.
Json to_json(const Inspection& inspection, const NeuronPlace& place);

Json to_json(const Trace& trace, const Inputs& inputs);

/// For the script of a page: without the neurons one by one, and as many numbers as pictures have room for.
Json drawn_json(const Inspection& inspection);
Json drawn_json(const SurfacePanel& panel);

}  // namespace ffn::inspect
