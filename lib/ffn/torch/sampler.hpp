// Text from a trained character model.
#pragma once

#include "ffn/engine/interface.hpp"

namespace ffn {

/// See LibTorch::sample.
void sample_text(const RunConfig& config, const TensorFile& weights, const SampleRequest& request,
                 const std::function<void(const std::string&)>& emit);

}  // namespace ffn
