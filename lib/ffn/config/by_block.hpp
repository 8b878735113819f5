// Settings that may differ from block to block: the feed-forward layer's width and activation, and whether it is parallel.
#pragma once

#include "ffn/config/model_config.hpp"

namespace ffn {

/// States which layers may have lists by block, and what is in them.
void require_blocks(FieldVisitor& v, const ModelConfig& model);

}  // namespace ffn
