// Coverage of the cpu engine, asked of every part of a run. LibTorch trains all other runs; their layer metrics
// (config/metrics.hpp) are not logged and they cannot be inspected.
#pragma once

#include <string>

#include "ffn/config/run_config.hpp"

namespace ffn {

/// Empty if the CPU network covers the model; otherwise the part that it lacks, for a message: "the FFN kind low_rank".
std::string not_covered(const ModelConfig& model);

/// The same of all that a run trains with: model and loss.
std::string not_covered(const RunConfig& config);

}  // namespace ffn
