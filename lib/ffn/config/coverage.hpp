// What the fused network (lib/ffn/fused) can compute. Whoever adds a layer says here whether it has a fused form; everything
// else is trained by LibTorch, logs nothing of its layers (config/metrics.hpp) and is not inspected.
#pragma once

#include <string>

#include "ffn/config/model_config.hpp"

namespace ffn {

/// Empty if the fused network covers the model; otherwise what it lacks, for a person: "the FFN kind low_rank".
std::string not_covered(const ModelConfig& model);

}  // namespace ffn
