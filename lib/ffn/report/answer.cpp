#include "ffn/report/answer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ffn/base/suggest.hpp"
#include "ffn/report/answer_history.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/cautions.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/leader.hpp"
#include "ffn/report/more_comparisons.hpp"
#include "ffn/report/shown.hpp"
#include "ffn/report/tuned.hpp"

namespace ffn {

namespace answer_detail {
namespace {

using stats::Verdict;

// A number and its sign stay on one line.
std::string percent(double fraction) {
  std::string text = format_percent(fraction, 0);
  return text.replace(text.find(' '), 1, "\u00a0");
}
std::string level(double confidence) {
  std::string text = format_level(confidence);
  return text.replace(text.find(' '), 1, "\u00a0");
}

/// Pairs of one value with one other that came to one verdict.
struct Found {
  std::string value, reference;
  std::vector<const PairResult*> pairs;
  std::vector<const Facet*> facets;
  std::vector<std::string> names = {};  ///< of several values together
};

// No run of either side has a value, or got to the target.
bool has_nothing(const PairResult& pair) {
  return pair.paired.missing_variant == pair.paired.num_seeds && pair.paired.missing_reference == pair.paired.num_seeds;
}

bool all_tied(const PairResult& pair) {
  return stats::is_same_with_every_seed(pair.paired) && pair.judgement.verdict != Verdict::too_few_seeds;
}

// A facet's pairs with this reference.
const std::vector<PairResult>& pairs_with(const Comparison& c, const Facet& facet, const std::string& reference) {
  return reference == c.reference ? facet.pairs : facet.further_pairs;
}

std::vector<Found> with_verdict(const Comparison& c, const std::function<bool(const PairResult&)>& holds) {
  std::map<std::string, std::size_t> place;
  for (const auto& value : values_of(c)) place.emplace(value, place.size() + 1);
  std::map<std::pair<std::size_t, std::size_t>, Found> found;  // the study's reference first
  for (const auto& facet : c.facets) {
    for (const auto* pairs : {&facet.pairs, &facet.further_pairs}) {
      for (const auto& pair : *pairs) {
        if (!holds(pair)) continue;
        const std::size_t reference = pair.reference == c.reference ? 0 : place.at(pair.reference);
        auto& with = found.try_emplace({reference, place.at(pair.value)}, Found{pair.value, pair.reference, {}, {}}).first->second;
        with.pairs.push_back(&pair);
        with.facets.push_back(&facet);
      }
    }
  }
  std::vector<Found> out;
  for (auto& entry : found) out.push_back(std::move(entry.second));
  return out;
}

std::size_t facets_with(const Comparison& c, const Found& found) {
  return static_cast<std::size_t>(std::count_if(c.facets.begin(), c.facets.end(), [&](const Facet& facet) {
    const auto& pairs = pairs_with(c, facet, found.reference);
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const PairResult& pair) { return pair.value == found.value && pair.reference == found.reference; });
  }));
}

// " at every expansion", " at expansion 4 and 8", " in 3 of 12 groups"; nothing where there is one facet.
std::string where(const Comparison& c, const Found& found) {
  const std::size_t all = facets_with(c, found), some = found.facets.size();
  if (c.facets.size() < 2) return "";
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

// ", by 8.3 % (95 % interval 3.0 to 12.1 %)", ", by a factor of 120 to 830".
std::string by_which_ratio(const Comparison& c, const Found& found) {
  const std::string before = c.ratio_form == stats::RatioForm::factor ? ", by a factor of " : ", by ";
  const std::string unit = c.ratio_form == stats::RatioForm::factor ? "" : "\u00a0%";
  const auto size = [&](const PairResult& pair, double x) { return stats::RatioText(*pair.paired.effect, c.ratio_form).size(x); };
  if (found.pairs.size() == 1) {
    const auto& effect = *found.pairs[0]->paired.effect;
    double near = effect.interval.low, far = effect.interval.high;
    if (std::abs(near) > std::abs(far)) std::swap(near, far);
    const bool one_sided = near * far > 0 && std::isfinite(far) && !effect.interval.empty();
    return before + size(*found.pairs[0], effect.value) + unit +
           (one_sided
                ? " (" + level(1 - c.alpha) + " interval " + size(*found.pairs[0], near) + " to " + size(*found.pairs[0], far) + unit + ")"
                : "");
  }
  const auto [least, most] = std::minmax_element(found.pairs.begin(), found.pairs.end(), [](const PairResult* a, const PairResult* b) {
    return std::abs(a->paired.effect->value) < std::abs(b->paired.effect->value);
  });
  const auto width = [](const PairResult& pair) { return pair.paired.effect->interval.high - pair.paired.effect->interval.low; };
  const auto& wider = width(**least) > width(**most) ? **least : **most;  // one number of digits for both
  const std::string low = size(wider, (*least)->paired.effect->value), high = size(wider, (*most)->paired.effect->value);
  return before + (low == high ? low : low + " to " + high) + unit;
}

// ", by 14 to 17 steps"; of one pair with its interval.
std::string by_how_much(const Comparison& c, const Found& found) {
  std::vector<Effect> effects;
  for (const auto* pair : found.pairs) {
    const auto effect = effect_of(*pair);
    if (effect && std::isfinite(effect->size)) effects.push_back(*effect);
  }
  if (effects.size() != found.pairs.size()) return "";
  if (std::all_of(effects.begin(), effects.end(), [](const Effect& e) { return e.size == 0; })) return "";  // ties on most seeds
  if (c.as_ratios) return by_which_ratio(c, found);
  const auto size = [&](double x, const Effect& e) { return number_of(c, std::abs(x), (e.high - e.low) / 2); };
  if (effects.size() == 1) {
    const auto& e = effects[0];
    const bool one_sided = e.low * e.high > 0 && std::isfinite(e.low) && std::isfinite(e.high) && !e.empty();
    const double near = std::min(std::abs(e.low), std::abs(e.high)), far = std::max(std::abs(e.low), std::abs(e.high));
    return ", by " + size(e.size, e) + unit_of(c.metric) +
           (one_sided ? " (" + level(1 - c.alpha) + " interval " + size(near, e) + " to " + size(far, e) + ")" : "");
  }
  const auto [least, most] = std::minmax_element(effects.begin(), effects.end(),
                                                 [](const Effect& a, const Effect& b) { return std::abs(a.size) < std::abs(b.size); });
  double half = 0;  // one number of digits for both
  for (const auto& e : effects) half = std::max(half, std::isfinite(e.high - e.low) ? (e.high - e.low) / 2 : 0);
  if (least->size != 0) half = std::min(half, std::abs(least->size));
  const std::string low = number_of(c, std::abs(least->size), half), high = number_of(c, std::abs(most->size), half);
  return ", by " + (low == high ? low : low + " to " + high) + unit_of(c.metric);
}

// "40 to 68 %".
std::string percents(const std::vector<double>& fractions) {
  const auto [least, most] = std::minmax_element(fractions.begin(), fractions.end());
  const std::string low = percent(*least), high = percent(*most);
  return low == high ? low : low.substr(0, low.find("\u00a0")) + " to " + high;
}

// "; 100 fresh seeds would tell with a chance of about 40 to 68 % if there is a difference, 20 to 51 % overall": of the numbers of seeds
// that were asked about, the first that is worth it.
std::string chances_text(const Comparison& c, const std::vector<Found>& undecided) {
  std::map<std::size_t, std::vector<double>> if_different, overall;
  std::size_t pairs = 0;
  for (const auto& found : undecided) {
    for (const auto* pair : found.pairs) {
      ++pairs;
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
std::vector<std::pair<std::string, std::vector<std::string>>> by_reference(const Comparison& c, const std::vector<Found>& all) {
  std::vector<std::pair<std::string, std::vector<std::string>>> out;
  for (const auto& found : all) {
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

std::string how_sure(const Comparison& c) {
  const auto has_value = [](const Facet& f) {
    return std::any_of(f.pairs.begin(), f.pairs.end(), [](const PairResult& pair) { return !has_nothing(pair); });
  };
  if (std::none_of(c.facets.begin(), c.facets.end(), has_value))
    return has_pairs(c) && !is_time_metric(c.metric) ? " No run has a value of " + c.metric + "." : "";
  const auto is = [](Verdict verdict) {
    return [verdict](const PairResult& pair) { return pair.judgement.verdict == verdict && !all_tied(pair) && !has_nothing(pair); };
  };
  std::vector<std::string> sure;
  for (const auto verdict : {Verdict::better, Verdict::worse}) {
    for (const auto& found : together(c, with_verdict(c, is(verdict)))) {
      const std::string than = std::string(stats::to_string(verdict)) + " than ";
      const bool all_others = found.names.size() > kMostNamed && found.names.size() + 1 == values_of(c).size();
      sure.push_back((all_others ? "all " + std::to_string(found.names.size()) + " others" : enumeration(found.names)) +
                     (found.names.size() > 1 ? " are " : " is ") + than + shown_value(c, found.reference) + where(c, found) +
                     by_how_much(c, found) + cautions(c, found.pairs));
    }
  }
  const auto same = by_reference(c, with_verdict(c, is(Verdict::no_meaningful_difference)));
  const auto unsure = by_reference(c, with_verdict(c, is(Verdict::undecided)));
  const auto tied = by_reference(c, with_verdict(c, [](const PairResult& pair) { return all_tied(pair); }));
  const auto nothing = by_reference(c, with_verdict(c, has_nothing));
  std::string text;
  if (sure.size() > 2 * kMostNamed) {
    const std::size_t more = sure.size() - 2 * kMostNamed;
    sure.resize(2 * kMostNamed);
    sure.push_back(std::to_string(more) + " more verdicts");
  }
  if (const auto interactions = sure_interactions(c); !interactions.empty()) sure.push_back(interactions);
  const bool is_sure = c.history.qualification.empty();
  const std::string of = (c.scope.empty() ? "" : " " + c.scope) + (c.alpha > CompareConfig().alpha ? " at " + format_level(c.alpha) : "");
  const std::string sure_word = is_sure ? " Sure" + of : " Suggestive";
  if (!sure.empty()) text += sure_word + ": " + join(sure, "; ") + ".";
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
    const std::string chances = chances_text(c, with_verdict(c, is(Verdict::undecided)));
    text += " Not sure: " + join(parts, ", ") + (chances.empty() && c.splits_rows ? "; more rows would tell, more seeds hardly" : chances) +
            ".";
  }
  if (has_unsure_interactions(c)) text += " Not sure whether a difference depends on " + shown_key(c, c.interaction_key) + ".";
  for (const auto& [reference, names] : tied)
    text +=
        " The same as " + shown_value(c, reference) + (c.unpaired ? " in every run: " : " with every seed: ") + enumeration(names) + ".";
  for (const auto& [reference, names] : nothing)
    text += " With " + enumeration(names) + " no run " + (is_time_metric(c.metric) ? "got to the target" : "has a value of " + c.metric) +
            ", nor with " + shown_value(c, reference) + (c.facets.size() > 1 ? " there." : ".");
  for (const auto& found : with_verdict(c, is(Verdict::too_few_seeds))) {
    const auto& pair = *found.pairs[0];
    const std::string what = c.unpaired ? " run" : " seed";
    return text + " " + std::to_string(pair.paired.num_seeds) + what + (pair.paired.num_seeds == 1 ? " is" : "s are") +
           " too few for a verdict; at least " + std::to_string(pair.judgement.seeds_for_verdict) + " are needed.";
  }
  return text;
}

// " Settled after 24 seeds of at most 200."
std::string how_far(const Comparison& c) {
  if (!c.sequential || c.sequential->sample_sizes.empty()) return "";
  const auto& [maxima, comparisons, sample_sizes, open] = *c.sequential;
  const std::string seeds = std::to_string(sample_sizes.back()), most = std::to_string(maxima.back());
  if (open == 0) return " Settled after " + seeds + " seeds of at most " + most + ".";
  if (sample_sizes.back() < maxima.back()) return " Not settled yet after " + seeds + " seeds of at most " + most + ".";
  return " Not settled by the maximum of " + most + " seeds: a larger seeds.max goes on from here and keeps the error rate.";
}

}  // namespace
}  // namespace answer_detail

std::string answer_text(const Comparison& c) {
  if (c.facets.empty()) return "";
  std::string text = answer_detail::who_leads(c) + answer_detail::how_sure(c);
  if (c.tuned) text += " " + tuned_sentence(*c.tuned);
  if (!c.rate.empty() && !text.empty()) text += " This is at lr " + c.rate + "; tuning may change it.";
  text += answer_detail::how_far(c);
  if (!text.empty() && !c.pairing.empty()) text += " " + c.pairing;
  if (text.empty()) return "";
  return (text[0] == ' ' ? text.substr(1) : text) + qualification_text(c);
}

std::string plain_answer(const Comparison& c) {
  std::string text = answer_text(c);
  const std::string no_break = "\u00a0";
  for (auto at = text.find(no_break); at != std::string::npos; at = text.find(no_break, at)) text.replace(at, no_break.size(), " ");
  return text;
}

}  // namespace ffn
