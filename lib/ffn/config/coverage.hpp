// Which layers the fused engine covers. Each kind of layer states it here. All others are trained by LibTorch; their layer metrics
// (config/metrics.hpp) are not logged and they cannot be inspected.
#pragma once

#include <string>

#include "ffn/config/model_config.hpp"

namespace ffn {

/// Empty if the fused network covers the model; otherwise what it lacks, for a person: "the FFN kind low_rank".
std::string not_covered(const ModelConfig& model);

}  // namespace ffn
