#include "ffn/report/answer_history.hpp"

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

std::string qualification_text(const Comparison& c) { return c.history.qualification.empty() ? "" : c.history.qualification + " "; }

std::string ways_out_text(const Comparison& c) {
  if (c.history.qualification.empty()) return "";
  if (c.history.earlier_looks == 0 && any_pending(c))
    return " The study's command trains the rest; the answer to its own question can then be sure.";
  const std::int64_t first = c.history.last_seed + 1;
  const std::string from = std::to_string(first);
  return " Fresh seeds give a sure answer: the study's command with another name and either seeds=[" + from + "," +
         std::to_string(first + 1) + ",…], or seeds={\"until\":\"settled\",\"first\":" + from + "}, which adds seeds until it is settled.";
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
