// Claims that a study makes about its own outcome: checked when it has run, so that an experiment's text stays true.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

struct Expectation {
  enum class State { met, unmet, unknown } state;
  std::string claim, source;
  std::string found;    ///< what was measured, or why it cannot be said yet
  bool is_asked = true;  ///< false: about a value or a facet that no variant has, as where a command line narrows a study
};

/// `expect` is a list of { "claim", "source", "check": { "facet": { key: value }, "value": v, and one or more of
/// "verdict", "verdict_not", "mean_at_least", "mean_at_most" } }. Without a facet every facet has to hold.
/// unknown: the runs or the seeds do not suffice. Throws ConfigError for a check that cannot be understood.
/// `complete` says that the comparison holds every variant of the study: a value or facet that it lacks is then an error.
std::vector<Expectation> check_expectations(const Json& expect, const Comparison& comparison, const std::string& source,
                                            bool complete = false);

}  // namespace ffn
