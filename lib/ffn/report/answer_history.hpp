// What an answer owes to what came before it, in words: what was declared and seen, claims.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// " Other question than declared: metric: suggestive. Fresh seeds give a sure answer: …"; empty if the answer is sure, or no verdict is
/// possible.
std::string qualification_text(const Comparison& comparison);

/// The value of `seeds` of a study that goes on asking: until settled, or as many as help where each splits the same rows of a table.
std::string fresh_seeds(const Comparison& comparison, std::int64_t first);

/// "claim, added after the results", for a person.
std::string claim_text(const Expectation& claim);

}  // namespace ffn
