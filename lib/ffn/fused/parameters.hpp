// The parameters of a whole network, in the order and under the names that nn's modules register them.
#pragma once

#include "ffn/config/model_config.hpp"
#include "ffn/config/task_config.hpp"
#include "ffn/core/parameter_row.hpp"

namespace ffn::fused {

RowLayout network_parameters(const ModelConfig& config, const TaskShape& task);

}  // namespace ffn::fused
