// A comparison in plain words, for a person who knows no statistics.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// The leader and by how much, then what of that is sure: one or two sentences on one line, such as
/// "relu gets there first at every expansion: 28 steps on average; gelu 33, silu 44. Sure: silu is worse than relu at every
/// expansion, by 14 to 17 steps. Not sure: gelu at expansion 1 and 2." Empty without anything to compare.
std::string answer_text(const Comparison& comparison);
/// The same for data: without no-break spaces.
std::string plain_answer(const Comparison& comparison);

/// The conditions that all runs share, in a line below the answer: "XOR of 2 bits · until accuracy ≥ 0.99 · d_model 8 · 594 parameters ·
/// AdamW 0.01 · 1,000 steps", without what varies, and without a target that nothing depends on.
std::string conditions_text(const Comparison& comparison);
/// " after 200 steps": where every run takes so many; nothing of times, and where a target or early stopping ends a run.
std::string after_steps(const Comparison& comparison);

/// The value of `seeds` of a study that goes on asking: until decided, as many as help where each
/// splits the same rows of a table, or twice as many of a ladder.
std::string fresh_seeds(const Comparison& comparison, std::int64_t first);

/// "claim, added after the results", for a person.
std::string claim_text(const Expectation& claim);

}  // namespace ffn
