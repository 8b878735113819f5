#include "ffn/report/answer_history.hpp"

#include <algorithm>

#include "ffn/config/sequential_seeds.hpp"
#include "ffn/config/tuning.hpp"
#include "ffn/stats/power.hpp"

namespace ffn {

std::string qualification_text(const Comparison& c) {
  const auto may_tell = [](const PairResult& pair) { return pair.judgement.verdict != stats::Verdict::too_few_seeds; };
  const auto has_verdicts = [&](const Facet& f) { return std::any_of(f.pairs.begin(), f.pairs.end(), may_tell); };
  if (c.history.qualification.empty() || std::none_of(c.facets.begin(), c.facets.end(), has_verdicts)) return "";
  const std::string text = " " + c.history.qualification;
  if (!c.history.way_out.empty()) return text + " " + c.history.way_out;
  if (num_pending(c) > 0) return text + " The study's command trains the rest.";
  const auto most = static_cast<std::int64_t>(c.splits_rows ? stats::kEnoughSplits : SequentialSeeds().max);
  if (!c.history.is_repeatable || c.history.last_seed >= kFirstTuningSeed - most)
    return text + " A study of fresh seeds that asks this question first gives a sure answer.";
  return text + " Fresh seeds give a sure answer: the study's command with name=fresh 'seeds=" + fresh_seeds(c, c.history.last_seed + 1) +
         "' in place of its own.";
}

std::string fresh_seeds(const Comparison& c, std::int64_t first) {
  if (!c.splits_rows) return "{\"until\":\"settled\",\"first\":" + std::to_string(first) + "}";
  std::string list;
  for (std::size_t i = 0; i < stats::kEnoughSplits; ++i)
    list += (i == 0 ? "[" : ",") + std::to_string(first + static_cast<std::int64_t>(i));
  return list + "]";
}

std::string claim_text(const Expectation& claim) { return claim.claim + (claim.is_after_results ? " (after the results)" : ""); }

}  // namespace ffn
