#include "ffn/report/answer_history.hpp"

#include <algorithm>

namespace ffn {

namespace {

bool any_pending(const Comparison& c) {
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      if (group.num_pending > 0) return true;
    }
  }
  return false;
}

}  // namespace

std::string qualification_text(const Comparison& c) {
  const auto may_tell = [](const PairResult& pair) { return pair.judgement.verdict != stats::Verdict::too_few_seeds; };
  const auto has_verdicts = [&](const Facet& f) { return std::any_of(f.pairs.begin(), f.pairs.end(), may_tell); };
  if (c.history.qualification.empty() || std::none_of(c.facets.begin(), c.facets.end(), has_verdicts)) return "";
  const std::string text = " " + c.history.qualification;
  if (any_pending(c)) return text + " The study's command trains the rest.";
  return text + " Fresh seeds give a sure answer: the study's command with name=fresh 'seeds={\"until\":\"settled\",\"first\":" +
         std::to_string(c.history.last_seed + 1) + "}'.";
}

std::string claim_text(const Expectation& claim) { return claim.claim + (claim.is_after_results ? " (after the results)" : ""); }

}  // namespace ffn
