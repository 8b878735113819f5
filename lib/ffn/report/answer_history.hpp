// What an answer owes to what came before it, in words: earlier looks, earlier studies, claims.
#pragma once

#include <string>

#include "ffn/compare/compare.hpp"

namespace ffn {

/// " After 2 earlier looks (other seeds than declared): suggestive. Fresh seeds give a sure answer: …"; empty if the answer is sure, or no
/// verdict is possible.
std::string qualification_text(const Comparison& comparison);

/// "The 2nd study of this question (after x): verdicts at 0.5 %, so that all of them together are wrong with a chance of at most 6 %."
std::string ledger_text(const FollowUp& follow_up);

/// "claim, added after the results", for a person.
std::string claim_text(const Expectation& claim);

}  // namespace ffn
