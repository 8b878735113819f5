#include "ffn/report/cautions.hpp"

#include <algorithm>

#include "ffn/compare/cautions.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/shown.hpp"

namespace ffn::answer_detail {

namespace {

// A bad run (of a loss that is far above the others', see the notes) need not have failed.
bool counts_bad_runs(const Comparison& c) { return !is_time_metric(c.metric) && !c.higher_is_better; }

}  // namespace

std::string cautions(const Comparison& c, const std::vector<const PairResult*>& pairs) {
  Failures winner, loser;  // where the winner fails most
  const bool is_better = pairs[0]->judgement.verdict == stats::Verdict::better;
  for (const auto* pair : pairs) {
    const auto variant = failures_of_variant(*pair), reference = failures_of_reference(*pair);
    const auto& own = is_better ? variant : reference;
    if (!own.often() || own.failed * winner.runs < winner.failed * own.runs) continue;
    winner = own;
    loser = is_better ? reference : variant;
  }
  std::string text;
  const auto skewed = [](const PairResult* pair) { return rests_on_skewed_mean(*pair); };
  if (std::any_of(pairs.begin(), pairs.end(), skewed)) text += ", on average: the differences are skewed";
  if (!winner.often()) return text;
  const std::string value = pairs[0]->value, reference = shown_value(c, pairs[0]->reference);
  return text + ", but " + (is_better ? name_of(c, value) : reference) +
         (is_time_metric(c.metric) ? " does not get there with "
          : counts_bad_runs(c)     ? " has bad runs with "
                                   : " fails with ") +
         (pairs.size() > 1 ? "up to " : "") + std::to_string(winner.failed) + " of " + std::to_string(winner.runs) + " seeds (" +
         (is_better ? reference : shown_value(c, value)) + " with " + std::to_string(loser.failed) + ")";
}

std::string failing_share(const Comparison& c, const std::string& value, std::size_t known) {
  const auto failures = failures_of(c, value);
  if (!failures.often() || failures.failed <= known) return "";
  const bool one = failures.failed == 1;
  return " (" + std::to_string(failures.failed) + " of " + std::to_string(failures.runs) + " runs " +
         (is_time_metric(c.metric) ? (one ? "never gets there)" : "never get there)")
          : counts_bad_runs(c)     ? (one ? "is bad)" : "are bad)")
                                   : (one ? "fails)" : "fail)"));
}

}  // namespace ffn::answer_detail
