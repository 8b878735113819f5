#include "ffn/report/answer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ffn/core/suggest.hpp"
#include "ffn/report/answer_history.hpp"
#include "ffn/report/answer_words.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/leader.hpp"
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

/// Pairs of one value that came to one verdict.
struct Found {
  std::string value;
  std::vector<const PairResult*> pairs;
  std::vector<const Facet*> facets;
};

bool all_tied(const PairResult& pair) {
  return pair.paired.ties == pair.paired.num_seeds && pair.judgement.verdict != Verdict::too_few_seeds;
}

std::vector<Found> with_verdict(const Comparison& c, const std::function<bool(const PairResult&)>& holds) {
  std::vector<Found> out;
  for (const auto& value : values_of(c)) {
    Found found{value, {}, {}};
    for (const auto& facet : c.facets) {
      for (const auto& pair : facet.pairs) {
        if (pair.value == value && holds(pair)) {
          found.pairs.push_back(&pair);
          found.facets.push_back(&facet);
        }
      }
    }
    if (!found.pairs.empty()) out.push_back(std::move(found));
  }
  return out;
}

std::size_t facets_with(const Comparison& c, const std::string& value) {
  std::size_t n = 0;
  for (const auto& facet : c.facets)
    n += std::any_of(facet.pairs.begin(), facet.pairs.end(), [&](const PairResult& pair) { return pair.value == value; });
  return n;
}

// " at every expansion", " at expansion 4 and 8", " in 3 of 12 groups"; nothing where there is one facet.
std::string where(const Comparison& c, const Found& found) {
  const std::size_t all = facets_with(c, found.value), some = found.facets.size();
  if (c.facets.size() < 2) return "";
  const std::string key = only_key(c);
  if (some == all && all > 1) return key.empty() ? " in every group" : " at every " + key;
  if (key.empty() || some > kMostNamed) return " in " + std::to_string(some) + " of " + std::to_string(all) + " groups";
  std::vector<std::string> at;
  for (const auto* facet : found.facets) at.push_back(facet->keys.begin()->second);
  return " at " + key + " " + enumeration(at);
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
           (one_sided ? " (" + percent(1 - c.alpha) + " interval " + size(*found.pairs[0], near) + " to " + size(*found.pairs[0], far) + unit + ")" : "");
  }
  const auto [least, most] = std::minmax_element(found.pairs.begin(), found.pairs.end(), [](const PairResult* a, const PairResult* b) {
    return std::abs(a->paired.effect->value) < std::abs(b->paired.effect->value);
  });
  const std::string low = size(**least, (*least)->paired.effect->value), high = size(**most, (*most)->paired.effect->value);
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
           (one_sided ? " (" + percent(1 - c.alpha) + " interval " + size(near, e) + " to " + size(far, e) + ")" : "");
  }
  const auto [least, most] =
      std::minmax_element(effects.begin(), effects.end(), [](const Effect& a, const Effect& b) { return std::abs(a.size) < std::abs(b.size); });
  const std::string low = size(least->size, *least), high = size(most->size, *most);
  return ", by " + (low == high ? low : low + " to " + high) + unit_of(c.metric);
}

// "; 100 fresh seeds would tell with a chance of 40 to 68 %": of the numbers of seeds that were asked about, the first that is worth it.
std::string chances_text(const std::vector<Found>& undecided) {
  std::map<std::size_t, std::vector<double>> chances;
  std::size_t pairs = 0;
  for (const auto& found : undecided) {
    for (const auto* pair : found.pairs) {
      ++pairs;
      for (const auto& chance : pair->judgement.chances) chances[chance.num_seeds].push_back(chance.probability);
    }
  }
  constexpr double kWorthIt = 0.5;
  for (const auto& [seeds, of_each] : chances) {
    if (of_each.size() != pairs) continue;
    const auto [least, most] = std::minmax_element(of_each.begin(), of_each.end());
    if (*least < kWorthIt && seeds != chances.rbegin()->first) continue;
    const std::string low = percent(*least), high = percent(*most);
    return "; " + std::to_string(seeds) + " fresh seeds would tell with a chance of about " +
           (low == high ? low : low.substr(0, low.find("\u00a0")) + " to " + high);
  }
  return "";
}

std::string how_sure(const Comparison& c) {
  const auto is = [](Verdict verdict) { return [verdict](const PairResult& pair) { return pair.judgement.verdict == verdict && !all_tied(pair); }; };
  std::vector<std::string> sure;
  for (const auto verdict : {Verdict::better, Verdict::worse}) {
    for (const auto& found : with_verdict(c, is(verdict))) {
      const std::string word = stats::to_string(verdict);
      sure.push_back(name_of(c, found.value) + " is " + word + " than " + shown_value(c, c.reference) + where(c, found) + by_how_much(c, found));
    }
  }
  std::vector<std::string> same, unsure, tied;
  for (const auto& found : with_verdict(c, is(Verdict::no_meaningful_difference))) same.push_back(name_of(c, found.value) + where(c, found));
  for (const auto& found : with_verdict(c, is(Verdict::undecided))) unsure.push_back(name_of(c, found.value) + where(c, found));
  for (const auto& found : with_verdict(c, [](const PairResult& pair) { return all_tied(pair); })) tied.push_back(name_of(c, found.value) + where(c, found));
  std::string text;
  if (sure.size() > 2 * kMostNamed) {
    const std::size_t more = sure.size() - 2 * kMostNamed;
    sure.resize(2 * kMostNamed);
    sure.push_back(std::to_string(more) + " more verdicts");
  }
  const bool is_sure = c.history.qualification.empty();
  if (!sure.empty()) text += (is_sure ? " Sure: " : " Suggestive: ") + join(sure, "; ") + ".";
  if (!same.empty())
    text += (is_sure ? " Sure that it is within " : " Suggestive, within ") + (c.as_ratios ? "a " + margin_as_factor(c) : format_significant(c.min_effect, 2) + unit_of(c.metric)) + " of " +
            shown_value(c, c.reference) + ": " + enumeration(same) + ".";
  if (!unsure.empty())
    text += " Not sure: " + enumeration(unsure) + (sure.empty() && same.empty() ? " against " + shown_value(c, c.reference) : "") + chances_text(with_verdict(c, is(Verdict::undecided))) + ".";
  if (!tied.empty()) text += " The same as " + shown_value(c, c.reference) + " with every seed: " + enumeration(tied) + ".";
  for (const auto& found : with_verdict(c, is(Verdict::too_few_seeds))) {
    const auto& pair = *found.pairs[0];
    return text + " " + std::to_string(pair.paired.num_seeds) + (pair.paired.num_seeds == 1 ? " seed is" : " seeds are") +
           " too few for a verdict; at least " + std::to_string(pair.judgement.seeds_for_verdict) + " are needed.";
  }
  return text;
}

// " Settled after 24 seeds of at most 200."
std::string how_far(const Comparison& c) {
  if (!c.sequential || c.sequential->looks.empty()) return "";
  const auto& [maxima, comparisons, looks, open] = *c.sequential;
  const std::string seeds = std::to_string(looks.back()), most = std::to_string(maxima.back());
  if (open == 0) return " Settled after " + seeds + " seeds of at most " + most + ".";
  if (looks.back() < maxima.back()) return " Not settled yet after " + seeds + " seeds of at most " + most + ".";
  return " Not settled by the maximum of " + most + " seeds: a larger seeds.max goes on from here and keeps the error rate.";
}

}  // namespace
}  // namespace answer_detail

std::string answer_text(const Comparison& c) {
  if (c.facets.empty()) return "";
  std::string text = answer_detail::who_leads(c) + answer_detail::how_sure(c);
  if (c.tuned) text += " " + tuned_sentence(*c.tuned);
  text += answer_detail::how_far(c);
  if (text.empty()) return "";
  if (c.history.follow_up) text += " " + ledger_text(*c.history.follow_up);
  return qualification_text(c) + (text[0] == ' ' ? text.substr(1) : text) + ways_out_text(c);
}

}  // namespace ffn
