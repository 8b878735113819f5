// An inspection as one JSON document.
#pragma once

#include "ffn/base/json.hpp"
#include "ffn/inspect/inspection.hpp"

namespace ffn::inspect {

/// Every number with the name that it has in the structs; shares from 0 to 1.
/// Of each neuron the three strongest examples.
Json to_json(const Inspection& inspection);
/// One neuron with all its examples.
Json to_json(const Inspection& inspection, const NeuronPlace& place);

}  // namespace ffn::inspect
