#include "ffn/report/answer_words.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ffn/base/text.hpp"
#include "ffn/compare/cautions.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"

namespace ffn::answer_detail {

std::string enumeration(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words);
  const std::size_t shown = words.size() > kMostNamed ? kMostNamed : words.size() - 1;
  return join({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(shown)}) + " and " +
         (words.size() > kMostNamed ? std::to_string(words.size() - shown) + " more" : words.back());
}

std::string unit_of(const std::string& metric) {
  return metric == "steps_to_target" ? " steps" : metric == "flops_to_target" ? " FLOPs" : metric == "seconds_to_target" ? " s" : "";
}

bool speaks_for_itself(const std::string& value) {
  return !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) && value != "true" && value != "false" && value != "null";
}

std::string name_of(const Comparison& c, const std::string& value) {
  return speaks_for_itself(value) ? shown_value(c, value) : key_and_value(c, c.by, value);
}

std::string number_of(const Comparison& c, double x, double uncertainty) {
  if (std::isinf(x)) return "no value";
  if (has_wide_centres(c)) return format_significant(x, 2);
  return c.metric == "flops_to_target" ? format_short(x) : format_with(x, uncertainty);
}

std::vector<std::string> values_of(const Comparison& c) {
  std::vector<std::string> values;
  std::set<std::string> seen;
  for_each_group(c, [&](const Facet&, const GroupResult& group) {
    if (group.num_over() > 0 && seen.insert(group.value).second) values.push_back(group.value);
  });
  return values;
}

std::string only_key(const Comparison& c) {
  const auto& keys = c.facets.at(0).keys;
  return keys.size() == 1 ? shown_key(c, keys.begin()->first) : "";
}

namespace {

// How a failing run is described. A bad run (of a loss that is far above the others', see the notes) need not have failed.
struct Failing {
  const char *with, *one, *several;
};
Failing failing(const Comparison& c) {
  if (is_time_metric(c.metric)) return {"does not get there", "never gets there", "never get there"};
  return c.higher_is_better ? Failing{"fails", "fails", "fail"} : Failing{"has bad runs", "is bad", "are bad"};
}

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
  const bool skewed = std::any_of(pairs.begin(), pairs.end(), [](const PairResult* pair) { return rests_on_skewed_mean(*pair); });
  const std::string text = skewed ? ", on average: the differences are skewed" : "";
  if (!winner.often()) return text;
  const std::string value = pairs[0]->value, reference = shown_value(c, pairs[0]->reference);
  return text + ", but " + (is_better ? name_of(c, value) : reference) + " " + failing(c).with + " with " +
         (pairs.size() > 1 ? "up to " : "") + std::to_string(winner.failed) + " of " + std::to_string(winner.runs) + " seeds (" +
         (is_better ? reference : shown_value(c, value)) + " with " + std::to_string(loser.failed) + ")";
}

std::string failing_share(const Comparison& c, const std::string& value, std::size_t known) {
  const auto failures = failures_of(c, value);
  if (!failures.often() || failures.failed <= known) return "";
  return " (" + std::to_string(failures.failed) + " of " + std::to_string(failures.runs) + " runs " +
         (failures.failed == 1 ? failing(c).one : failing(c).several) + ")";
}

}  // namespace ffn::answer_detail
