// `match`: the hidden width that makes an FFN cost what the plain one costs.
#pragma once

#include "ffn/config/model_config.hpp"

namespace ffn {

/// Solves the width of an FFN whose `match` asks for it: sets matched_width, which hidden_width() returns from then on, and
/// mismatch. A step of its own after reading: describing a config changes nothing but what is read.
void resolve_widths(ModelConfig& model);

/// States, at the model, that the mismatch which resolve_widths left is within match_tolerance.
void require_match(FieldVisitor& v, const ModelConfig& model);

}  // namespace ffn
