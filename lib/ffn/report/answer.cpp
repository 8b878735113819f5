#include "ffn/report/answer.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "ffn/core/suggest.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/tuned.hpp"
#include "ffn/report/variant_name.hpp"

namespace ffn {

namespace {

using stats::Verdict;

constexpr std::size_t kMostNamed = 4;  // of a list that goes on

// "a, b and c"; of many, the first few and how many more.
std::string enumeration(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  if (words.size() == 1) return words[0];
  std::vector<std::string> shown = words;
  std::string last = shown.back();
  shown.pop_back();
  if (words.size() > kMostNamed) {
    shown.assign(words.begin(), words.begin() + kMostNamed);
    last = std::to_string(words.size() - kMostNamed) + " more";
  }
  return join(shown) + " and " + last;
}

// A number and its sign stay on one line.
std::string percent(double fraction) {
  std::string text = format_percent(fraction, 0);
  return text.replace(text.find(' '), 1, "\u00a0");
}

std::string unit_of(const std::string& metric) {
  return metric == "steps_to_target" ? " steps" : metric == "flops_to_target" ? " FLOPs" : metric == "seconds_to_target" ? " s" : "";
}

// "relu", but "expansion 8" and "bias true": a value that says nothing by itself is named after its key.
bool speaks_for_itself(const std::string& value) {
  return !value.empty() && std::isalpha(static_cast<unsigned char>(value[0])) && value != "true" && value != "false" && value != "null";
}

std::string name_of(const Comparison& c, const std::string& value) {
  return speaks_for_itself(value) ? shown_value(c, value) : last_segment(c.by) + " " + value;
}

bool name_the_same_keys(const Comparison& c) {
  std::vector<std::string> keys;
  for (const auto& group : c.facets.at(0).groups) {
    std::vector<std::string> own;
    for (const auto& [key, value] : parts_of_variant(group.value)) own.push_back(key);
    if (own.empty() || (!keys.empty() && own != keys)) return false;
    keys = std::move(own);
  }
  return true;
}

std::string number_of(const Comparison& c, double x, double uncertainty) {
  if (std::isinf(x)) return "no value";
  if (has_wide_centres(c)) return format_significant(x, 2);
  return c.metric == "flops_to_target" ? format_short(x) : format_with(x, uncertainty);
}

double half_width_of(const GroupResult& g) {
  if (!g.centre) return g.half_width.value_or(0);
  const auto& i = g.centre->interval;
  return std::isfinite(i.high - i.low) ? (i.high - i.low) / 2 : 0;
}

// Values of `by` in order, each with its mean over the facets that have all of them; of ratios, the geometric one.
struct Standing {
  std::string value;
  double mean = 0, half_width = 0;
  std::size_t first_in = 0;    ///< facets in which it is the best
  bool never = false;          ///< no run got there
  std::size_t bad = 0;         ///< runs that diverged or failed: a time counts them with all its steps, a median as the worst
  std::size_t runs = 0, hits = 0;  ///< that are over, and that got to the target
};

const GroupResult* group_of(const Facet& facet, const std::string& value) {
  const auto found = std::find_if(facet.groups.begin(), facet.groups.end(), [&](const GroupResult& g) { return g.value == value; });
  return found != facet.groups.end() && shown_centre(*found) ? &*found : nullptr;
}

std::vector<std::string> values_of(const Comparison& c) {
  std::vector<std::string> values;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      const bool any_over = group.num_done + group.num_diverged + group.num_failed > 0;
      if (any_over && std::find(values.begin(), values.end(), group.value) == values.end()) values.push_back(group.value);
    }
  }
  return values;
}

struct Standings {
  std::vector<Standing> all;  ///< the best first
  std::size_t facets = 0;     ///< that they are over
};

Standings standings_of(const Comparison& c) {
  Standings out;
  for (const auto& value : values_of(c)) {
    Standing standing{value, 0, 0, 0, true, 0};
    bool any = false;
    for (const auto& facet : c.facets) {
      for (const auto& group : facet.groups) {
        if (group.value == value) standing.bad += group.num_diverged + group.num_failed, any = any || shown_centre(group);
      }
    }
    if (any) out.all.push_back(standing);
  }
  if (out.all.empty()) return out;
  for (const auto& facet : c.facets) {
    std::vector<const GroupResult*> groups;
    for (const auto& standing : out.all) groups.push_back(group_of(facet, standing.value));
    if (std::count(groups.begin(), groups.end(), nullptr) > 0) continue;
    ++out.facets;
    double best = *shown_centre(*groups.at(0));
    const auto is_best = [&](const GroupResult* g) { return *shown_centre(*g) == best; };
    for (const auto* g : groups) best = c.higher_is_better ? std::max(best, *shown_centre(*g)) : std::min(best, *shown_centre(*g));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      auto& standing = out.all[i];
      const double centre = *shown_centre(*groups[i]);
      standing.mean += c.as_ratios ? std::log(centre) : centre, standing.half_width += half_width_of(*groups[i]);
      standing.first_in += centre == best && std::count_if(groups.begin(), groups.end(), is_best) == 1;
      standing.runs += groups[i]->num_done + groups[i]->num_diverged + groups[i]->num_failed, standing.hits += groups[i]->num_hits;
      standing.never = standing.never && is_time_metric(c.metric) && groups[i]->num_hits == 0;
    }
  }
  if (out.facets == 0) return out;
  for (auto& standing : out.all) {
    standing.mean /= static_cast<double>(out.facets), standing.half_width /= static_cast<double>(out.facets);
    if (c.as_ratios) standing.mean = std::exp(standing.mean);
  }
  std::stable_sort(out.all.begin(), out.all.end(),
                   [&](const Standing& a, const Standing& b) {
                     if (a.mean == b.mean) return a.bad < b.bad;
                     return c.higher_is_better ? a.mean > b.mean : a.mean < b.mean;
                   });
  return out;
}

// The one key that makes the facets, if it is one.
std::string only_key(const Comparison& c) {
  const auto& keys = c.facets.at(0).keys;
  return keys.size() == 1 ? last_segment(keys.begin()->first) : "";
}

// "relu", "relu and gelu", "lr 0.01 and 0.1".
std::string names_of(const Comparison& c, const std::vector<Standing>& standings, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(i == 0 ? name_of(c, standings[i].value) : shown_value(c, standings[i].value));
  return enumeration(names);
}

// All came to the same number.
std::string all_equal(const Comparison& c, const std::vector<Standing>& all, const std::string& number) {
  const bool time = is_time_metric(c.metric);
  if (time && std::any_of(all.begin(), all.end(), [](const Standing& s) { return s.hits < s.runs; })) {
    // Means that count "never" as the budget say little where most runs never get there.
    std::vector<std::string> hits;
    for (const auto& s : all) hits.push_back(std::to_string(s.hits) + " of " + std::to_string(s.runs) + " with " + name_of(c, s.value));
    return "Not every run got to the target: " + enumeration(hits) + ".";
  }
  return names_of(c, all, all.size()) + (time ? " get there at the same time: " : " have the same " + c.metric + ": ") + number + ".";
}

// ", all 4 values of expansion taken together", " at every expansion": over which facets the first `leaders` of all lead.
std::string over_which(const Comparison& c, const Standings& standings, std::size_t leaders) {
  const std::size_t facets = standings.facets;
  if (facets < 2) return "";
  const std::string key = only_key(c);
  if (leaders > 1 || standings.all[0].first_in < facets)
    return (facets == 2 ? ", both" : ", all " + std::to_string(facets)) + (key.empty() ? " groups" : " values of " + key) + " taken together";
  return key.empty() ? " in every group" : " at every " + key;
}

std::string who_leads(const Comparison& c) {
  const auto standings = standings_of(c);
  const auto& [all, facets] = standings;
  const bool time = is_time_metric(c.metric);
  if (all.size() < 2 || facets == 0 || (time && c.mixed_budgets)) return "";
  const auto& first = all[0];
  if (std::isinf(first.mean)) return "";  // half of every variant's runs were lost
  if (std::all_of(all.begin(), all.end(), [](const Standing& s) { return s.never; })) return "No run got to the target.";
  double uncertainty = 0;  // one for all: the same digits
  for (const auto& standing : all) uncertainty = std::max(uncertainty, standing.half_width);
  const auto shown = [&](const Standing& s, const std::string& unit) {
    const std::string text = s.never ? "never" : number_of(c, s.mean, uncertainty) + unit;
    return s.bad > 0 ? text + " (" + std::to_string(s.bad) + (s.bad == 1 ? " run" : " runs") + " diverged or failed)" : text;
  };
  const auto tied = [&](const Standing& s) { return s.mean == first.mean && s.never == first.never && s.bad == first.bad; };
  const auto leaders = static_cast<std::size_t>(std::find_if_not(all.begin(), all.end(), tied) - all.begin());
  if (leaders == all.size()) return all_equal(c, all, shown(first, unit_of(c.metric)));
  std::string text = names_of(c, all, leaders);
  text += time ? (leaders == 1 ? " gets there first" : " get there first")
               : std::string(leaders == 1 ? " has the " : " have the ") + (c.higher_is_better ? "highest " : "lowest ") + (c.shown == ShownCentre::median ? "median " : "") + c.metric;
  text += over_which(c, standings, leaders) + ": " + shown(first, unit_of(c.metric)) + (facets > 1 ? " on average" : "");
  const bool words = std::all_of(all.begin(), all.end(), [](const Standing& s) { return speaks_for_itself(s.value); });
  std::vector<std::string> others;
  for (std::size_t i = leaders; i < all.size() && others.size() <= kMostNamed; ++i) others.push_back(shown_value(c, all[i].value) + (words ? " " : ": ") + shown(all[i], ""));
  if (all.size() > leaders + kMostNamed + 1) others.back() = "and " + std::to_string(all.size() - leaders - kMostNamed) + " more";
  return text + (words ? "; " + join(others) : " (" + join(others) + ")") + ".";
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
        if (pair.value == value && holds(pair)) found.pairs.push_back(&pair), found.facets.push_back(&facet);
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
  if (!sure.empty()) text += " Sure: " + join(sure, "; ") + ".";
  if (!same.empty())
    text += " Sure that it is within " + (c.as_ratios ? "a " + margin_as_factor(c) : format_significant(c.min_effect, 2) + unit_of(c.metric)) + " of " +
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

std::string last_segment(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string facet_title(const Facet& facet) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : facet.keys) parts.push_back(last_segment(key) + " " + value);
  return join(parts);
}

std::string shown_value(const Comparison& c, const std::string& value) {
  if (c.by != "variant" || !name_the_same_keys(c)) return value;
  std::vector<std::string> values;
  for (const auto& [key, part] : parts_of_variant(value)) values.push_back(part);
  return values.empty() ? value : join(values, " ");
}

std::optional<double> shown_centre(const GroupResult& group) {
  return group.centre ? std::optional<double>(group.centre->value) : group.mean;
}

bool has_wide_centres(const Comparison& c) {
  if (!c.as_ratios) return false;
  return std::any_of(c.facets.begin(), c.facets.end(), [](const Facet& f) {
    return std::any_of(f.groups.begin(), f.groups.end(), [](const GroupResult& g) {
      return g.centre && !g.centre->interval.unbounded() && g.centre->interval.high > 1.5 * g.centre->interval.low;
    });
  });
}

std::string margin_as_factor(const Comparison& c) {
  std::ostringstream factor;
  factor.precision(4);  // as verdict_sentence() has it
  factor << 1 + c.min_effect;
  return "factor of " + factor.str();
}

bool is_time_metric(const std::string& metric) {
  constexpr const char* kEnd = "_to_target";
  constexpr std::size_t kLength = 10;
  return metric.size() > kLength && metric.compare(metric.size() - kLength, kLength, kEnd) == 0;
}

std::optional<Effect> effect_of(const PairResult& pair) {
  const auto& effect = pair.paired.effect;
  if (!effect) return std::nullopt;
  const auto& i = effect->interval;
  return Effect{effect->value, i.low, i.high, i.low_open, i.high_open};
}

std::string answer_text(const Comparison& c) {
  if (c.facets.empty()) return "";
  std::string text = who_leads(c) + how_sure(c);
  if (c.tuned) text += " " + tuned_sentence(*c.tuned);
  text += how_far(c);
  return !text.empty() && text[0] == ' ' ? text.substr(1) : text;
}

}  // namespace ffn
