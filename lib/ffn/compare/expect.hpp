// Claims that a study makes about its own outcome: checked when it has run, so that an experiment's text stays true.
#pragma once

#include "ffn/compare/compare.hpp"

namespace ffn {

/// `expect` is a list of { "claim", "source", "check": { "facet": { key: value }, "value": v, and one or more of
/// "verdict", "verdict_not", "mean_at_least", "mean_at_most" } }. Without a facet every facet has to hold.
/// Undecided and too few seeds show neither; of a mean its interval decides. Throws ConfigError for a check that cannot be understood.
/// `complete` says that the comparison holds every variant of the study: a value or facet that it lacks is then an error.
std::vector<Expectation> check_expectations(const Json& expect, const Comparison& comparison, const std::string& source,
                                            bool complete = false);

/// "gelu is better" and "gelu is not worse" as items of such a list. Throws UsageError for any other text.
Json claims_of(const std::vector<std::string>& texts);

/// The same for a study that may have come out before it was claimed: `frozen` is what study.json recorded before the first run.
std::vector<Expectation> check_claims(const Json& expect, const std::optional<JsonValue>& frozen, const Comparison& comparison,
                                      const std::string& source);

}  // namespace ffn
