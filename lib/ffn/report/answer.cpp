#include "ffn/report/answer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/config/sequential_seeds.hpp"
#include "ffn/config/tuning.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/ladder.hpp"
#include "ffn/report/tuned.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"

namespace ffn {

namespace answer_detail {
namespace {

using stats::Verdict;
using Holds = std::function<bool(const PairResult&)>;

const std::string kNoBreak = "\u00a0";

// A number and its sign stay on one line.
std::string unbroken(std::string text) { return text.replace(text.find(' '), 1, kNoBreak); }

/// Pairs of one value with one other that came to one verdict.
struct Found {
  std::string value, reference;
  std::vector<const PairResult*> pairs = {};
  std::vector<const Facet*> facets = {};
  std::vector<std::string> names = {};  ///< of several values together
};

// No run of either side has a value, or got to the target.
bool has_nothing(const PairResult& pair) {
  return pair.paired.missing_variant == pair.paired.num_seeds && pair.paired.missing_reference == pair.paired.num_seeds;
}

bool all_tied(const PairResult& pair) {
  return stats::is_same_with_every_seed(pair.paired) && pair.judgement.verdict != Verdict::too_few_seeds;
}

Holds is(Verdict verdict) {
  return [verdict](const PairResult& pair) { return pair.judgement.verdict == verdict && !all_tied(pair) && !has_nothing(pair); };
}

std::vector<Found> those(const Comparison& c, const Holds& holds) {
  std::map<std::string, std::size_t> place{{c.reference, 0}};  // the study's reference first
  for (const auto& value : values_of(c)) place.emplace(value, place.size());
  std::map<std::pair<std::size_t, std::size_t>, Found> found;
  for_each_pair(c, [&](const Facet& facet, const PairResult& pair) {
    if (!holds(pair)) return;
    auto& with = found.try_emplace({place.at(pair.reference), place.at(pair.value)}, Found{pair.value, pair.reference}).first->second;
    with.pairs.push_back(&pair);
    with.facets.push_back(&facet);
  });
  std::vector<Found> out;
  for (auto& entry : found) out.push_back(std::move(entry.second));
  return out;
}

// " at every expansion", " at expansion 4 and 8", " in 3 of 12 groups"; nothing where there is one facet.
std::string where(const Comparison& c, const Found& found) {
  if (c.facets.size() < 2) return "";
  std::size_t all = 0;
  for_each_pair(c, [&](const Facet&, const PairResult& pair) { all += pair.value == found.value && pair.reference == found.reference; });
  const std::size_t some = found.facets.size();
  const std::string key = only_key(c);
  if (some == all && all > 1) return key.empty() ? " in every group" : " at every " + key;
  if (key.empty() || some > kMostNamed) return " in " + std::to_string(some) + " of " + std::to_string(all) + " groups";
  std::vector<std::string> at;
  bool named = true;  // by names of their own, such as "no attention"
  for (const auto* facet : found.facets) {
    const auto& [full_key, value] = *facet->keys.begin();
    at.push_back(shown_value(c, full_key, value));
    named = named && at.back() != value;
  }
  return named ? " with " + enumeration(at) : " at " + key + " " + enumeration(at);
}

// ", by 14 to 17 steps", ", by a factor of 120 to 830"; of one pair with its interval: ", by 8.3 % (95 % interval 3.0 to 12.1 %)".
std::string by_how_much(const Comparison& c, const Found& found) {
  std::vector<Effect> effects;
  for (const auto* pair : found.pairs) {
    const auto effect = effect_of(*pair);
    if (!effect || !std::isfinite(effect->size)) return "";
    effects.push_back(*effect);
  }
  if (std::all_of(effects.begin(), effects.end(), [](const Effect& e) { return e.size == 0; })) return "";  // ties on most seeds
  const auto [least, most] = std::minmax_element(effects.begin(), effects.end(),
                                                 [](const Effect& a, const Effect& b) { return std::abs(a.size) < std::abs(b.size); });
  const auto& wider = least->high - least->low > most->high - most->low ? least : most;  // one number of digits for all
  double half = 0;
  for (const auto& e : effects) half = std::max(half, std::isfinite(e.high - e.low) ? (e.high - e.low) / 2 : 0);
  if (effects.size() > 1 && least->size != 0) half = std::min(half, std::abs(least->size));
  const auto& of_ratio = *found.pairs[static_cast<std::size_t>(wider - effects.begin())]->paired.effect;
  const auto text = [&](double x) {
    return c.as_ratios ? stats::RatioText(of_ratio, c.ratio_form).size(x) : number_of(c, std::abs(x), half);
  };
  const bool is_factor = c.as_ratios && c.ratio_form == stats::RatioForm::factor;
  const std::string percent = c.as_ratios && !is_factor ? kNoBreak + "%" : "", unit = c.as_ratios ? percent : unit_of(c.metric);
  const std::string low = text(least->size), high = text(most->size);
  const std::string size = (is_factor ? ", by a factor of " : ", by ") + (low == high ? low : low + " to " + high) + unit;
  double near = least->low, far = least->high;
  if (std::abs(near) > std::abs(far)) std::swap(near, far);
  if (effects.size() > 1 || !(near * far > 0) || !std::isfinite(far) || least->empty()) return size;
  return size + " (" + unbroken(format_level(1 - c.alpha)) + " interval " + text(near) + " to " + text(far) + percent + ")";
}

// "40 to 68 %".
std::string percents(const std::vector<double>& fractions) {
  const auto [least, most] = std::minmax_element(fractions.begin(), fractions.end());
  const std::string low = unbroken(format_percent(*least, 0)), high = unbroken(format_percent(*most, 0));
  return low == high ? low : low.substr(0, low.find(kNoBreak)) + " to " + high;
}

// "; 100 fresh seeds would tell with a chance of about 40 to 68 % if there is a difference, 20 to 51 % overall": of the numbers of seeds
// that were asked about, the first that is worth it.
std::string chances_text(const Comparison& c, const std::vector<Found>& undecided) {
  std::map<std::size_t, std::vector<double>> if_different, overall;
  std::size_t pairs = 0;
  for (const auto& found : undecided) {
    pairs += found.pairs.size();
    for (const auto* pair : found.pairs) {
      for (const auto& chance : pair->judgement.chances) {
        if_different[chance.num_seeds].push_back(chance.if_different);
        overall[chance.num_seeds].push_back(chance.overall);
      }
    }
  }
  constexpr double kWorthIt = 0.5;
  for (const auto& [seeds, of_each] : if_different) {
    if (of_each.size() != pairs) continue;
    if (*std::min_element(of_each.begin(), of_each.end()) < kWorthIt && seeds != if_different.rbegin()->first) continue;
    const std::string chance = percents(of_each), at_all = percents(overall[seeds]);
    return "; " + std::to_string(seeds) + (c.unpaired ? " fresh runs of each" : " fresh seeds") + " would tell with a chance of about " +
           chance + (at_all == chance ? "" : " if there is a difference, " + at_all + " overall");
  }
  return "";
}

// Names and places of what was found against each reference, the study's first.
std::vector<std::pair<std::string, std::vector<std::string>>> by_reference(const Comparison& c, const Holds& holds) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const auto& found : those(c, holds)) {
    if (out.empty() || out.back().first != found.reference) out.push_back({found.reference, {}});
    out.back().second.push_back(name_of(c, found.value) + where(c, found));
  }
  return out;
}

// Many values that came to one verdict in the same places are one part of the sentence, unless they have a caution of their own.
std::vector<Found> together(const Comparison& c, const std::vector<Found>& all) {
  constexpr std::ptrdiff_t kFew = 3;
  std::vector<Found> out;
  for (const auto& found : all) {
    const auto is_like = [&](const Found& other) {
      return other.reference == found.reference && other.facets == found.facets && cautions(c, other.pairs).empty();
    };
    const bool is_of_many = is_like(found) && std::count_if(all.begin(), all.end(), is_like) > kFew;
    auto with = is_of_many ? std::find_if(out.begin(), out.end(), is_like) : out.end();
    if (with == out.end()) with = out.insert(with, {found.value, found.reference, {}, found.facets});
    with->names.push_back(name_of(c, found.value));
    with->pairs.insert(with->pairs.end(), found.pairs.begin(), found.pairs.end());
  }
  return out;
}

// "how gelu and silu differ from relu depends on expansion": the values with an interaction that is sure; empty where none is.
std::string sure_interactions(const Comparison& c) {
  std::vector<std::string> values, names;
  for (const auto& contrast : c.contrasts) {
    const auto& value = contrast.pair.value;
    if (contrast.is_main_effect() || !is_different(contrast.pair) || (!values.empty() && values.back() == value)) continue;
    values.push_back(value);
    names.push_back(names.empty() ? name_of(c, value) : shown_value(c, value));
  }
  return names.empty() ? ""
                       : "how " + enumeration(names) + (names.size() == 1 ? " differs from " : " differ from ") +
                             shown_value(c, c.reference) + " depends on " + shown_key(c, c.interaction_key);
}

std::vector<std::string> sure_parts(const Comparison& c) {
  std::vector<std::string> sure;
  for (const auto verdict : {Verdict::better, Verdict::worse}) {
    for (const auto& found : together(c, those(c, is(verdict)))) {
      const std::size_t names = found.names.size();
      const bool all_others = names > kMostNamed && names + 1 == values_of(c).size();
      sure.push_back((all_others ? "all " + std::to_string(names) + " others" : enumeration(found.names)) + (names > 1 ? " are " : " is ") +
                     stats::to_string(verdict) + " than " + shown_value(c, found.reference) + where(c, found) + by_how_much(c, found) +
                     cautions(c, found.pairs));
    }
  }
  if (sure.size() > 2 * kMostNamed) {
    const std::size_t more = sure.size() - 2 * kMostNamed;
    sure.resize(2 * kMostNamed);
    sure.push_back(std::to_string(more) + " more verdicts");
  }
  if (const auto interactions = sure_interactions(c); !interactions.empty()) sure.push_back(interactions);
  return sure;
}

std::string verdict_sentences(const Comparison& c) {
  const std::string no_value = is_time_metric(c.metric) ? "got to the target" : "has a value of " + c.metric;
  if (!any_pair(c, [](const PairResult& pair) { return !has_nothing(pair); }))
    return has_pairs(c) && !is_time_metric(c.metric) ? " No run " + no_value + "." : "";
  const auto sure = sure_parts(c);
  const auto same = by_reference(c, is(Verdict::no_meaningful_difference)), unsure = by_reference(c, is(Verdict::undecided));
  const bool is_sure = c.history.qualification.empty();
  const std::string of = (c.scope.empty() ? "" : " " + c.scope) + (c.alpha > CompareConfig().alpha ? " at " + format_level(c.alpha) : "");
  const std::string sure_word = is_sure ? " Sure" + of : " Suggestive";
  std::string text = sure.empty() ? "" : sure_word + ": " + join(sure, "; ") + ".";
  for (const auto& [reference, names] : same)
    text += (!is_sure     ? " Suggestive, within "
             : of.empty() ? " Sure that it is within "
                          : sure_word + ": it is within ") +
            (c.as_ratios ? "a " + margin_as_factor(c) : format_significant(c.min_effect, 2) + unit_of(c.metric)) + " of " +
            shown_value(c, reference) + ": " + enumeration(names) + ".";
  if (!unsure.empty()) {
    const bool named = (sure.empty() && same.empty()) || unsure.size() > 1 || unsure[0].first != c.reference;
    std::vector<std::string> parts;
    for (const auto& [reference, names] : unsure)
      parts.push_back(enumeration(names) + (named ? " against " + shown_value(c, reference) : ""));
    const std::string chances = chances_text(c, those(c, is(Verdict::undecided)));
    text += " Not sure: " + join(parts) + (chances.empty() && c.splits_rows ? "; more rows would tell, more seeds hardly" : chances) + ".";
  }
  const auto is_open = [](const ContrastResult& x) { return x.is_main_effect() || x.pair.judgement.verdict == Verdict::undecided; };
  if (!c.contrasts.empty() && std::all_of(c.contrasts.begin(), c.contrasts.end(), is_open))
    text += " Not sure whether a difference depends on " + shown_key(c, c.interaction_key) + ".";
  for (const auto& [reference, names] : by_reference(c, all_tied))
    text +=
        " The same as " + shown_value(c, reference) + (c.unpaired ? " in every run: " : " with every seed: ") + enumeration(names) + ".";
  for (const auto& [reference, names] : by_reference(c, has_nothing))
    text += " With " + enumeration(names) + " no run " + no_value + ", nor with " + shown_value(c, reference) +
            (c.facets.size() > 1 ? " there." : ".");
  const auto too_few = those(c, is(Verdict::too_few_seeds));
  if (too_few.empty()) return text;
  const auto& pair = *too_few[0].pairs[0];
  return text + " " + std::to_string(pair.paired.num_seeds) + (c.unpaired ? " run" : " seed") +
         (pair.paired.num_seeds == 1 ? " is" : "s are") + " too few for a verdict; at least " +
         std::to_string(pair.judgement.seeds_for_verdict) + " are needed.";
}

// " Decided after 24 seeds of at most 200."
std::string how_far(const Comparison& c) {
  if (!c.sequential || c.sequential->sample_sizes.empty()) return "";
  const auto seeds = c.sequential->sample_sizes.back(), most = c.sequential->maxima.back();
  const std::string after = " after " + std::to_string(seeds) + " seeds of at most " + std::to_string(most) + ".";
  if (c.sequential->open == 0) return " Decided" + after;
  if (seeds < most) return " Not decided yet" + after;
  return " Not decided by the maximum of " + std::to_string(most) + " seeds" +
         (c.pairing.empty() ? ": a larger seeds.max goes on from here and keeps the error rate." : ".");
}

// " Other question than declared: metric: suggestive. Fresh seeds give a sure answer: …"; empty if the answer is sure, or no verdict is
// possible.
std::string qualification_text(const Comparison& c) {
  const auto& [qualification, claims, last_seed, way_out, is_repeatable] = c.history;
  if (qualification.empty() || !any_pair(c, [](const PairResult& pair) { return pair.judgement.verdict != Verdict::too_few_seeds; }))
    return "";
  const std::string text = " " + qualification;
  if (!way_out.empty()) return text + " " + way_out;
  if (num_pending(c) > 0) return text + " The study's command trains the rest.";
  const auto most = static_cast<std::int64_t>(c.splits_rows ? stats::kEnoughSplits : SequentialSeeds().max);
  if (!is_repeatable || last_seed >= kFirstTuningSeed - most)
    return text + " A study of fresh seeds that asks this question first gives a sure answer.";
  return text + " Fresh seeds give a sure answer: the study's command with name=fresh 'seeds=" + fresh_seeds(c, last_seed + 1) +
         "' in place of its own.";
}

}  // namespace
}  // namespace answer_detail

std::string fresh_seeds(const Comparison& c, std::int64_t first) {
  if (!c.splits_rows && !c.ladder) return "{\"until\":\"settled\",\"first\":" + std::to_string(first) + "}";
  std::size_t count = stats::kEnoughSplits;
  if (!c.splits_rows) count = 2 * c.facets.at(0).groups.at(0).num_runs;
  if (!c.splits_rows && c.num_comparisons <= stats::most_comparisons(c.alpha))
    count = std::max(count, stats::seeds_for_any_verdict(c.alpha, std::max<std::size_t>(1, c.num_comparisons)));
  std::vector<std::string> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(std::to_string(first + static_cast<std::int64_t>(i)));
  return "[" + join(list, ",") + "]";
}

std::string claim_text(const Expectation& claim) { return claim.claim + (claim.is_after_results ? " (after the results)" : ""); }

std::string answer_text(const Comparison& c) {
  using namespace answer_detail;
  if (c.facets.empty()) return "";
  std::string text = leader_sentence(c) + verdict_sentences(c) + ladder_sentences(c);
  if (c.tuned) text += " " + tuned_sentence(*c.tuned);
  if (!c.rate.empty() && !text.empty()) text += " This is at lr " + c.rate + "; tuning may change it.";
  text += how_far(c);
  if (!text.empty() && !c.pairing.empty()) text += " " + c.pairing;
  return text.empty() ? "" : (text[0] == ' ' ? text.substr(1) : text) + qualification_text(c);
}

std::string plain_answer(const Comparison& c) {
  std::string text = answer_text(c);
  const auto& no_break = answer_detail::kNoBreak;
  for (auto at = text.find(no_break); at != std::string::npos; at = text.find(no_break, at)) text.replace(at, no_break.size(), " ");
  return text;
}

}  // namespace ffn
