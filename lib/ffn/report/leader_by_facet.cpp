// Who leads where, in a study whose verdicts are not the same everywhere.
#include <algorithm>
#include <map>
#include <vector>

#include "ffn/base/suggest.hpp"
#include "ffn/compare/ranking.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/leader.hpp"
#include "ffn/report/shown.hpp"

namespace ffn::answer_detail {

namespace {

std::string verb_of(const Comparison& c, bool several) {
  if (is_time_metric(c.metric)) return several ? "get there first" : "gets there first";
  return std::string(several ? "have the " : "has the ") + (c.higher_is_better ? "highest " : "lowest ") +
         (c.shown == ShownCentre::median ? "median " : "") + c.metric;
}

bool is_sure_of_any(const Facet& facet) {
  return std::any_of(facet.pairs.begin(), facet.pairs.end(), [](const PairResult& pair) {
    return pair.judgement.verdict == stats::Verdict::better || pair.judgement.verdict == stats::Verdict::worse;
  });
}

}  // namespace

bool verdicts_differ(const Comparison& c) {
  std::map<std::string, stats::Verdict> of_value;
  for (const auto& facet : c.facets) {
    for (const auto& pair : facet.pairs) {
      const auto [known, is_new] = of_value.insert({pair.value, pair.judgement.verdict});
      if (!is_new && known->second != pair.judgement.verdict) return true;
    }
  }
  return false;
}

std::string leaders_by_facet(const Comparison& c) {
  struct Leaders {
    std::vector<std::string> values, places;
  };
  const std::string key = only_key(c);
  std::vector<Leaders> all;
  std::vector<std::string> unsure;
  const auto place = [&](const Facet& facet) {
    return key.empty() ? facet_title(c, facet) : shown_value(c, facet.keys.begin()->first, facet.keys.begin()->second);
  };
  for (const auto& facet : c.facets) {
    std::vector<std::string> values;
    for (const auto* group : best_groups(c, facet)) values.push_back(group->value);
    if (values.empty() || !is_sure_of_any(facet)) {
      unsure.push_back(place(facet));
      continue;
    }
    auto same = std::find_if(all.begin(), all.end(), [&](const Leaders& l) { return l.values == values; });
    if (same == all.end()) same = all.insert(same, {values, {}});
    same->places.push_back(place(facet));
  }
  if (all.empty()) return "";
  if (c.facets.size() > kMostNamed)
    return "Which " + shown_key(c, c.by) + " " + verb_of(c, false) + " depends on " + (key.empty() ? "the group" : key) +
           ": see the table.";
  std::vector<std::string> parts;
  for (const auto& [values, places] : all) {
    std::vector<std::string> names;
    for (const auto& value : values) names.push_back(name_of(c, value));
    std::string part = enumeration(names) + (parts.empty() ? " " + verb_of(c, names.size() > 1) : "") + " at ";
    parts.push_back(part + (parts.empty() && !key.empty() ? key + " " : "") + enumeration(places));
  }
  if (!unsure.empty()) parts.push_back("no sure difference at " + enumeration(unsure));
  return join(parts, "; ") + ".";
}

}  // namespace ffn::answer_detail
