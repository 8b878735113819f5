// A claim that a study makes about its own outcome, and what came of it.
#pragma once

#include <string>

namespace ffn {

struct Expectation {
  enum class Outcome { holds, refuted, not_shown } outcome = Outcome::holds;
  std::string claim, source;
  std::string found;              ///< what was measured, or why nothing is shown
  bool is_asked = true;           ///< false: about a value or a facet that no variant has, as where a command line narrows a study
  bool is_after_results = false;  ///< added or reworded when runs had finished
};

/// "holds", "refuted", "not shown"; "not asked here".
std::string outcome_of(const Expectation& expectation);

}  // namespace ffn
