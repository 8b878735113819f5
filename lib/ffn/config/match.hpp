// `match`: the hidden width that makes an FFN cost what the plain one costs. `match_expansion`: the d_model that keeps a model's size.
#pragma once

#include "ffn/config/model_config.hpp"

namespace ffn {

/// Solves the width of an FFN whose `match` asks for it: sets matched_width, which hidden_width() returns from then on, and
/// mismatch. A step of its own after reading: describing a config changes nothing but what is read.
void resolve_widths(ModelConfig& model);

/// The field model.match_expansion, and which layers it is of.
void describe_match_expansion(FieldVisitor& v, ModelConfig& model);

/// Solves d_model, with heads of the same width, where match_expansion asks for it, then the widths. May be taken again. Attention by
/// position has parameters for each position of a sequence.
void resolve_sizes(ModelConfig& model, std::int64_t sequence_length);

/// States, at the model, that the mismatches which resolve_sizes left are within match_tolerance.
void require_match(FieldVisitor& v, const ModelConfig& model, std::int64_t sequence_length);

}  // namespace ffn
