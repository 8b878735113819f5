// What an answer owes to what came before it, in words: what was declared and seen, claims.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// " Other question than declared: metric: suggestive. Fresh seeds give a sure answer: …"; empty if the answer is sure, or no verdict is
/// possible.
std::string qualification_text(const Comparison& comparison);

/// "claim, added after the results", for a person.
std::string claim_text(const Expectation& claim);

}  // namespace ffn
