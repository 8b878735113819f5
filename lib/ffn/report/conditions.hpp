// What all runs of a comparison share, in a line below its answer.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// "XOR of 2 bits · until accuracy ≥ 0.99 · d_model 8 · 594 parameters · AdamW 0.01 · 1,000 steps": without what varies, and without a
/// target that nothing depends on.
std::string conditions_text(const Comparison& comparison);

/// " after 200 steps": where every run takes so many; nothing of times, and where a target or early stopping ends a run.
std::string after_steps(const Comparison& comparison);

}  // namespace ffn
