#include "ffn/compare/notes.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/tuning.hpp"

namespace ffn {

namespace {

// Runs that were computed differently differ by rounding, too: those of one group, or those that are compared with each other (facet and
// seed). Groups that nobody compares may be what they like. And a run that went on elsewhere has no bits to repeat.
void note_computing(const std::vector<FoundRun>& runs, Comparison& out) {
  using Engines = std::map<std::string, std::size_t>;  // what computed runs → how many
  std::map<std::string, Engines> of_value;             // by value of `by`
  std::map<std::vector<std::string>, Engines> of_group, side_by_side;
  std::size_t moved = 0;
  for (const auto& run : runs) {
    if (!run.summary || run.summary->computed_by.empty()) continue;
    const std::string &engine = run.summary->computed_by.back(), value = value_of(run, out.by);
    std::vector<std::string> place;
    for (const auto& [key, shown] : out.facets.at(0).keys) place.push_back(value_of(run, key));
    ++of_value[value][engine];
    place.push_back(value);
    ++of_group[place][engine];
    place.back() = std::to_string(run.seed);
    ++side_by_side[place][engine];
    moved += run.summary->computed_by.size() > 1;
  }
  const auto any_mixed = [](const auto& places) {
    return std::any_of(places.begin(), places.end(), [](const auto& entry) { return entry.second.size() > 1; });
  };
  const bool mixed = any_mixed(of_group);
  if ((mixed || any_mixed(side_by_side)) && !is_computing(out.by)) {
    std::vector<std::string> parts;
    for (const auto& [value, engines] : of_value) {
      std::vector<std::string> hands;
      for (const auto& [engine, count] : engines) hands.push_back((engines.size() > 1 ? std::to_string(count) + " by " : "by ") + engine);
      parts.push_back(value + " " + join(hands, " and "));
    }
    add_note(note::kMixedEngines, {mixed ? "runs" : "variants", join(parts, "; ")}, out);
  }
  if (moved > 0) add_note(note::kMoved, {std::to_string(moved) + (moved == 1 ? " run" : " runs")}, out);
}

// A section that is there or not brings its keys along.
bool comes_with_section(const std::vector<FoundRun>& runs, const std::string& key, const std::string& other) {
  if (key.rfind(other + ".", 0) == 0) return true;
  const std::string section = key.substr(0, key.rfind('.') + 1);
  if (other.rfind(section, 0) != 0) return false;
  std::set<std::string> values;
  for (const auto& run : runs) {
    if (run.keys.count(other)) values.insert(value_of(run, other));
  }
  return values.size() < 2;
}

// Says what labels of the compared values stand for. False if there are no labels.
bool note_labels(const std::vector<FoundRun>& runs, const std::set<std::string>& within, Comparison& out) {
  const bool labelled = std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) {
    return !run.label.empty() && shown_value(out, value_of(run, out.by)) == run.label;
  });
  if (!labelled) return false;
  constexpr std::size_t kMost = 6;  // keys, and values of one
  std::vector<std::string> keys, parts;
  std::copy_if(within.begin(), within.end(), std::back_inserter(keys), [](const std::string& key) { return !is_computing(key); });
  const auto comes_along = [&](const std::string& key) {  // a kind, or a section that is there or not, brings keys along
    return std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) { return run.keys.count(key) == 0; }) &&
           std::any_of(keys.begin(), keys.end(), [&](const std::string& other) {
             const std::string section = other.substr(0, other.size() - std::min(other.size(), std::string(".kind").size()));
             return other != key &&
                    (comes_with_section(runs, key, other) || (section + ".kind" == other && key.rfind(section + ".", 0) == 0));
           });
  };
  std::map<std::string, const FoundRun*> first;  // of each value
  for (const auto& run : runs) first.emplace(value_of(run, out.by), &run);
  const auto by_values = ordered_values(runs, out.by);
  for (const auto& key : keys) {
    if (comes_along(key)) continue;
    std::map<std::string, std::vector<std::string>> names;  // of each value
    for (const auto& value : by_values) names[value_of(*first.at(value), key)].push_back(shown_value(out, value));
    std::string values;
    for (const auto& value : ordered_values(runs, key)) {
      if (names.count(value)) values += (values.empty() ? "" : "; ") + join(names[value]) + ": " + value;
    }
    parts.push_back(key + " (" + (names.size() > kMost ? std::to_string(names.size()) + " values" : values) + ")");
  }
  if (parts.size() > kMost) {
    parts.push_back("and " + std::to_string(parts.size() - kMost) + " more keys");
    parts.erase(parts.begin() + kMost, parts.end() - 1);
  }
  if (!parts.empty()) add_note(note::kLabels, {join(parts)}, out);
  return true;
}

// Keys confounded with the compared key, or with one that makes the groups: no column shows them.
void note_what_goes_along(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, bool said_of_by, Comparison& out) {
  if (out.by == "variant") return;
  std::vector<std::string> shown;
  if (!said_of_by) shown.push_back(out.by);
  for (const auto& [key, value] : out.facets.at(0).keys) shown.push_back(key);
  std::set<std::string> said(shown.begin(), shown.end());
  for (const auto& key : shown) {
    // A kind brings its own keys along; that is what it means to vary it.
    const auto dot = key.rfind(".kind");
    const std::string own = dot != std::string::npos && dot + 5 == key.size() ? key.substr(0, dot + 1) : "\n";
    std::vector<std::string> along;
    for (const auto& other : varying) {
      if (said.count(other) || other.rfind(own, 0) == 0 || comes_with_section(runs, key, other) || !determines(runs, key, other)) continue;
      said.insert(other);
      along.push_back(other + (determines(runs, other, key) ? "" : " (" + values_along(runs, key, other) + ")"));
    }
    if (!along.empty()) add_note(note::kGoesAlong, {key, along.size() == 1 ? "goes" : "go", join(along)}, out);
  }
}

// Times to a target are known to an evaluation: runs that reach it between the same two are tied.
void note_coarse_times(const std::vector<FoundRun>& runs, Comparison& out) {
  std::int64_t every = 1;
  for (const auto& run : runs) {
    const auto found = run.keys.find("train.eval_every");
    const std::int64_t own = found == run.keys.end() ? 1 : std::strtoll(found->second.c_str(), nullptr, 10);
    if (own < run.budget_steps) every = std::max(every, own);  // a run that is evaluated at its end alone has no times to tell apart
  }
  const bool many = any_pair(out, [](const PairResult& pair) {
    const bool never = pair.paired.missing_variant == pair.paired.num_seeds && pair.paired.missing_reference == pair.paired.num_seeds;
    return 2 * pair.paired.ties >= pair.paired.num_seeds && !never;
  });
  if (every > 1 && many) add_note(note::kCoarseTimes, {std::to_string(every), std::to_string(std::max<std::int64_t>(1, every / 10))}, out);
}

// A hit is a hit; a run that was lost after it is none that one can use.
void note_lost_after_hit(Comparison& out) {
  std::map<std::string, std::size_t> lost;
  for_each_group(out, [&](const Facet&, const GroupResult& group) {
    for (const auto& run : group.runs) lost[group.value] += run.state == RunState::diverged && run.value.has_value();
  });
  std::vector<std::string> counts;
  for (const auto& [value, count] : lost) {
    if (count > 0) counts.push_back(shown_value(out, value) + ": " + std::to_string(count));
  }
  if (!counts.empty()) add_note(note::kLostAfterHit, {join(counts)}, out);
}

// Verdicts on layers of unlike sizes are verdicts on sizes, too.
void note_sizes(Comparison& out) {
  static const std::set<std::string> kSizes{"d_ff",           "expansion", "d_model",   "blocks",          "num_experts",
                                            "shared_experts", "keys",      "key_width", "block_expansion", "shared_expansion"};
  if (out.by.rfind("task.", 0) == 0 || kSizes.count(out.by.substr(out.by.rfind('.') + 1)) > 0) return;
  constexpr double kAlike = 1.05;
  const auto size_of = [](const GroupResult& group) { return static_cast<double>(group.parameters); };
  for (const auto& facet : out.facets) {
    const auto [least, most] = std::minmax_element(facet.groups.begin(), facet.groups.end(),
                                                   [&](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
    if (least == facet.groups.end() || size_of(*least) == 0 || size_of(*most) <= kAlike * size_of(*least)) continue;
    const auto shown = [&](const GroupResult& group) { return shown_value(out, group.value) + " has " + std::to_string(group.parameters); };
    return add_note(note::kSizes, {shown(*least), shown(*most), out.facets.size() > 1 ? ", and so in other groups" : ""}, out);
  }
}

void note_unmeasured(Comparison& out) {
  std::set<std::string> values;
  for_each_group(out, [&](const Facet&, const GroupResult& group) {
    if (group.num_unmeasured > 0) values.insert(shown_value(out, group.value));
  });
  if (!values.empty()) add_note(note::kUnmeasured, {out.metric, out.by, join({values.begin(), values.end()})}, out);
}

// Choices by another metric than the compared one, choices at the ends of their grid, and what one choice leaves open.
void note_tuning(Comparison& out) {
  if (!out.tuned) return;
  const auto& tuned = *out.tuned;
  if (const auto same = tuning_metric(out.metric); tuned.metric != same)
    add_note(note::kTunedByAnother, {tuned.metric, out.metric, same}, out);
  for (const auto& key : tuned.keys) {
    std::vector<std::string> at_edge;
    for (const auto& variant : tuned.variants) {
      if (std::find(variant.edge.begin(), variant.edge.end(), key) != variant.edge.end()) at_edge.push_back(variant.name);
    }
    if (!at_edge.empty()) add_note(tuned.per_seed ? note::kSeedsAtEdge : note::kAtEdge, {key, join(at_edge)}, out);
  }
  if (tuned.variants.size() < 2 || tuned.per_seed) return;
  std::size_t judging_seeds = 0;
  for_each_group(out, [&](const Facet&, const GroupResult& group) { judging_seeds = std::max(judging_seeds, group.num_runs); });
  if (auto caution = caution_about_one_choice(tuned.seeds, judging_seeds, out.min_effect); !caution.empty())
    out.notes.push_back(std::move(caution));
}

}  // namespace

std::string caution_about_one_choice(std::size_t tuning_seeds, std::size_t judging_seeds, double min_effect) {
  constexpr std::size_t kMeasured = 5;
  constexpr std::size_t kSeedsForChosen = 20;
  if (judging_seeds >= kSeedsForChosen && min_effect > 0) return "";
  return note_text(note::kOneChoice, {tuning_seeds < kMeasured ? " (more with tune.seeds=" + std::to_string(tuning_seeds) + ")" : "",
                                      judging_seeds < kSeedsForChosen ? "20 seeds and a compare.min_effect" : "a compare.min_effect"});
}

void note_constant(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, Comparison& out) {
  const auto values = ordered_values(runs, out.by);
  if (values.size() > 1) return;
  add_note(note::kConstant, {out.by, values[0], varying.empty() ? "no key varies here" : "keys that vary here: " + join(varying)}, out);
}

void add_notes(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, const std::set<std::string>& within,
               bool is_time, Comparison& out) {
  note_tuning(out);
  note_what_goes_along(runs, varying, note_labels(runs, within, out), out);
  note_sizes(out);
  note_unmeasured(out);
  add_data_notes(runs, out);
  if (is_time) {
    note_coarse_times(runs, out);
    note_lost_after_hit(out);
  }
  std::size_t lonely = 0;
  const std::size_t num_values = ordered_values(runs, out.by).size();
  for (const auto& facet : out.facets) {
    const bool measured = std::none_of(facet.groups.begin(), facet.groups.end(), [](const GroupResult& g) { return g.num_unmeasured > 0; });
    lonely += facet.pairs.empty() && measured && num_values > 1;
  }
  const bool unjudged = out.metric == "seconds_to_target" || out.by.rfind("task.", 0) == 0 || out.mixed_scales;
  if (lonely > 0 && !unjudged)
    add_note(note::kLonely, {std::to_string(lonely), std::to_string(out.facets.size()), out.by, out.reference}, out);
  note_computing(runs, out);
  std::set<std::int64_t> budgets;
  for (const auto& run : runs) budgets.insert(run.budget_steps);
  out.mixed_budgets = budgets.size() > 1;
  if (budgets.size() > 1 && is_time) add_note(note::kBudgets, {std::to_string(*budgets.begin()), std::to_string(*budgets.rbegin())}, out);
  if (out.metric == "seconds_to_target") add_note(note::kSeconds, {}, out);
}

}  // namespace ffn
