#include "ffn/report/answer_history.hpp"

#include <algorithm>
#include <cstdio>

#include "ffn/base/suggest.hpp"
#include "ffn/report/format.hpp"

namespace ffn {

namespace {

// "0.5 %", "0.0125 %": no digit is rounded away that tells two levels apart.
std::string level_text(double alpha) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", 100 * alpha);
  return std::string(text) + "\u00a0%";
}

std::string ordinal(std::size_t n) {
  const char* suffix = n % 100 >= 11 && n % 100 <= 13 ? "th" : n % 10 == 1 ? "st" : n % 10 == 2 ? "nd" : n % 10 == 3 ? "rd" : "th";
  return std::to_string(n) + suffix;
}

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
  if (c.history.earlier_looks == 0 && any_pending(c)) return text + " The study's command trains the rest.";
  return text + " Fresh seeds give a sure answer: the study's command with name=fresh 'seeds={\"until\":\"settled\",\"first\":" +
         std::to_string(c.history.last_seed + 1) + "}'.";
}

std::string ledger_text(const FollowUp& follow_up) {
  double all = 1;
  for (std::size_t k = 1; k <= follow_up.number; ++k) all += FollowUp::share(k);
  return "The " + ordinal(follow_up.number + 1) + " study of this question (after " + join(follow_up.after) + "): verdicts at " +
         level_text(follow_up.alpha()) + ", so that all of them together are wrong with a chance of at most " +
         level_text(all * follow_up.declared_alpha) + ".";
}

std::string claim_text(const Expectation& claim) { return claim.claim + (claim.is_after_results ? " (after the results)" : ""); }

}  // namespace ffn
