// The first part of the answer: who leads, and by how much; where verdicts are not the same everywhere, who leads where.
#include <algorithm>
#include <cmath>
#include <map>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/answer.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"

namespace ffn::answer_detail {

namespace {

double half_width_of(const GroupResult& g) {
  if (!g.centre) return g.half_width.value_or(0);
  const auto& i = g.centre->interval;
  return std::isfinite(i.high - i.low) ? (i.high - i.low) / 2 : 0;
}

// Values of `by` in order, each with its mean over the facets that have all of them; of ratios, the geometric one.
struct RankedVariant {
  std::string value;
  Rank rank;  ///< its bad runs are those of all facets
  double half_width = 0;
  std::size_t first_in = 0;  ///< facets in which it is the best
};

struct Ranking {
  std::vector<RankedVariant> all;  ///< the best first
  std::size_t facets = 0;          ///< that they are over
};

Ranking ranking_of(const Comparison& c) {
  Ranking out;
  for (const auto& value : values_of(c)) {
    RankedVariant variant{value, {}};
    bool any = false;
    for_each_group(c, [&](const Facet&, const GroupResult& group) {
      if (group.value != value) return;
      variant.rank.bad += group.num_lost();
      any = any || shown_centre(group);
    });
    if (any) out.all.push_back(variant);
  }
  for (const auto& facet : c.facets) {
    std::vector<const GroupResult*> groups;
    std::vector<Rank> ranks;
    for (const auto& variant : out.all) {
      groups.push_back(find_group(facet, variant.value));
      if (const auto rank = groups.back() ? rank_of(*groups.back()) : std::nullopt) ranks.push_back(*rank);
    }
    if (groups.empty() || ranks.size() < groups.size()) continue;
    ++out.facets;
    const Rank best = *std::min_element(ranks.begin(), ranks.end(), [&](const Rank& a, const Rank& b) { return ranks_before(c, a, b); });
    const auto is_best = [&](const Rank& r) { return !ranks_before(c, best, r); };
    for (std::size_t i = 0; i < groups.size(); ++i) {
      auto& variant = out.all[i];
      variant.rank.centre += c.as_ratios ? std::log(ranks[i].centre) : ranks[i].centre;
      variant.rank.runs += ranks[i].runs;
      variant.rank.hits += ranks[i].hits;
      variant.half_width += half_width_of(*groups[i]);
      variant.first_in += is_best(ranks[i]) && std::count_if(ranks.begin(), ranks.end(), is_best) == 1;
    }
  }
  if (out.facets == 0) return out;
  for (auto& variant : out.all) {
    variant.rank.centre /= static_cast<double>(out.facets);
    variant.half_width /= static_cast<double>(out.facets);
    if (c.as_ratios) variant.rank.centre = std::exp(variant.rank.centre);
  }
  std::stable_sort(out.all.begin(), out.all.end(),
                   [&](const RankedVariant& a, const RankedVariant& b) { return ranks_before(c, a.rank, b.rank); });
  return out;
}

// "relu", "relu and gelu", "lr 0.01 and 0.1".
std::string names_of(const Comparison& c, const std::vector<RankedVariant>& ranking, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(i == 0 ? name_of(c, ranking[i].value) : shown_value(c, ranking[i].value));
  return enumeration(names);
}

// ", all 4 values of expansion taken together", " at every expansion": over which facets the first `leaders` of all lead.
std::string over_which(const Comparison& c, const Ranking& ranking, std::size_t leaders) {
  const std::size_t facets = ranking.facets;
  if (facets < 2) return "";
  const std::string key = only_key(c);
  if (leaders > 1 || ranking.all[0].first_in < facets)
    return (facets == 2 ? ", both" : ", all " + std::to_string(facets)) + (key.empty() ? " groups" : " values of " + key) +
           " taken together";
  return key.empty() ? " in every group" : " at every " + key;
}

std::string hits_text(const RankedVariant& s) { return std::to_string(s.rank.hits) + " of " + std::to_string(s.rank.runs); }

// All came to the same number.
std::string all_equal(const Comparison& c, const Ranking& ranking, const std::string& number) {
  const auto& all = ranking.all;
  const bool time = is_time_metric(c.metric);
  if (time && std::any_of(all.begin(), all.end(), [](const RankedVariant& s) { return s.rank.hits < s.rank.runs; })) {
    // Means that count "never" as the budget say little where most runs never get there.
    std::vector<std::string> hits;
    for (const auto& s : all) hits.push_back(hits_text(s) + " with " + name_of(c, s.value));
    return "Not every run got to the target: " + enumeration(hits) + ".";
  }
  const bool average = ranking.facets > 1;
  return names_of(c, all, all.size()) + (time ? " get there at the same time" : " have the same " + c.metric + after_steps(c)) +
         over_which(c, ranking, all.size()) + ": " + number + (average ? " on average" : "") + ".";
}

// "gets there first", "has the lowest median val/loss"; "with the most seeds" in place of "first".
std::string verb_of(const Comparison& c, bool several, const std::string& how = "first") {
  if (is_time_metric(c.metric)) return (several ? "get there " : "gets there ") + how;
  return std::string(several ? "have the " : "has the ") + (c.higher_is_better ? "highest " : "lowest ") +
         (c.shown == ShownCentre::median ? "median " : "") + c.metric;
}

// A value has one verdict in one facet and another elsewhere: a mean over all facets then says nothing of any.
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

// "gelu gets there first at expansion 1 and 2; relu at 8; no sure difference at 4."; of many facets, that the table says it.
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
    if (values.empty() || std::none_of(facet.pairs.begin(), facet.pairs.end(), is_different)) {
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

}  // namespace

std::string leader_sentence(const Comparison& c) {
  const auto ranking = ranking_of(c);
  const auto& all = ranking.all;
  const auto facets = ranking.facets;
  const bool time = is_time_metric(c.metric);
  if (all.size() < 2 || facets == 0) return "";
  const auto& first = all[0];
  if (first.rank.is_never(c)) return "No run got to the target.";
  if (c.mixed_scales) return "";
  if (std::isinf(first.rank.centre) || (time && c.mixed_budgets)) return "";  // half of every variant's runs were lost
  double uncertainty = 0;  // one for all, and two digits of the smallest: numbers of a sentence have as many digits
  for (const auto& variant : all) uncertainty = std::max(uncertainty, variant.half_width);
  for (const auto& variant : all) {
    if (variant.rank.centre > 0) uncertainty = std::min(uncertainty, variant.rank.centre);
  }
  const auto hits_differ_from_first = [&](const RankedVariant& s) {
    return time && !s.rank.is_never(c) && s.rank.hits * first.rank.runs != first.rank.hits * s.rank.runs;
  };
  const bool with_hits =
      time && std::any_of(all.begin(), all.end(), [&](const RankedVariant& s) { return !s.rank.is_never(c) && s.rank.hits < s.rank.runs; });
  double precision = 1;
  const auto shown = [&](const RankedVariant& s, const std::string& unit) {
    const std::string number = number_of(c, s.rank.centre, precision * uncertainty) + unit;
    const std::string text =
        s.rank.is_never(c) ? "never" : (with_hits ? hits_text(s) + " seeds, " : "") + (has_misses(c) ? "median " : "") + number;
    if (const auto share = s.rank.is_never(c) || with_hits ? "" : failing_share(c, s.value, s.rank.bad); !share.empty())
      return text + share;
    return s.rank.bad > 0 ? text + " (" + std::to_string(s.rank.bad) + (s.rank.bad == 1 ? " run" : " runs") + " diverged or failed)" : text;
  };
  const auto tied = [&](const RankedVariant& s) { return !ranks_before(c, first.rank, s.rank); };
  const auto leaders = static_cast<std::size_t>(std::find_if_not(all.begin(), all.end(), tied) - all.begin());
  if (leaders == all.size()) return all_equal(c, ranking, shown(first, unit_of(c.metric)));
  if ((leaders > 1 || first.first_in < facets) && verdicts_differ(c)) return leaders_by_facet(c);
  while (shown(first, "") == shown(all[leaders], "") && precision > 1e-6) precision /= 10;  // a lead that the table's digits hide
  std::string text = names_of(c, all, leaders) + " " +
                     verb_of(c, leaders > 1, hits_differ_from_first(all[leaders]) ? "with the most seeds" : "first") +
                     (time ? "" : after_steps(c));
  text += over_which(c, ranking, leaders) + ": " + shown(first, unit_of(c.metric) + (facets > 1 ? " on average" : ""));
  const bool words = std::all_of(all.begin(), all.end(), [](const RankedVariant& s) { return speaks_for_itself(s.value); });
  std::vector<std::string> others;
  for (std::size_t i = leaders; i < all.size() && others.size() <= kMostNamed; ++i)
    others.push_back(shown_value(c, all[i].value) + (words ? " " : ": ") + shown(all[i], ""));
  if (all.size() > leaders + kMostNamed + 1) others.back() = "and " + std::to_string(all.size() - leaders - kMostNamed) + " more";
  return text + (words ? "; " + join(others) : " (" + join(others) + ")") + ".";
}

}  // namespace ffn::answer_detail
