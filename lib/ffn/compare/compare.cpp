#include "ffn/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "ffn/config/metrics.hpp"
#include "ffn/core/error.hpp"
#include "ffn/core/suggest.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn {

namespace {

using Keys = std::map<std::string, std::string>;
constexpr const char* kAbsent = "-";  // a key that a run's kind does not have

std::string value_of(const FoundRun& run, const std::string& key) {
  if (key == "variant") return run.variant;
  const auto found = run.keys.find(key);
  return found == run.keys.end() ? kAbsent : found->second;
}

std::vector<std::string> varying_keys(const std::vector<FoundRun>& runs) {
  std::set<std::string> all;
  for (const auto& run : runs) {
    for (const auto& [key, value] : run.keys) all.insert(key);
  }
  std::vector<std::string> out;
  for (const auto& key : all) {
    for (const auto& run : runs) {
      if (value_of(run, key) == value_of(runs[0], key)) continue;
      out.push_back(key);
      break;
    }
  }
  return out;
}

// True if runs that agree in `given` agree in `key`.
bool determines(const std::vector<FoundRun>& runs, const std::string& given, const std::string& key) {
  std::map<std::string, std::string> seen;
  for (const auto& run : runs) {
    if (seen.insert({value_of(run, given), value_of(run, key)}).first->second != value_of(run, key)) return false;
  }
  return true;
}

std::size_t num_values(const std::vector<FoundRun>& runs, const std::string& key) {
  std::set<std::string> values;
  for (const auto& run : runs) values.insert(value_of(run, key));
  return values.size();
}

// The varying keys that make facets: those that `by` does not determine, and of keys that move together the one with the
// most values.
std::vector<std::string> facet_keys(const std::vector<FoundRun>& runs, std::vector<std::string> varying, const std::string& by) {
  std::stable_sort(varying.begin(), varying.end(), [&](const auto& a, const auto& b) { return num_values(runs, a) > num_values(runs, b); });
  std::vector<std::string> out;
  for (const auto& key : varying) {
    const bool known = key == by || determines(runs, by, key) ||
                       std::any_of(out.begin(), out.end(), [&](const auto& kept) { return determines(runs, kept, key); });
    if (!known) out.push_back(key);
  }
  return out;
}

// ---- metrics

enum class Measure { logged, steps, flops, seconds };

struct Metric {
  std::string name;
  Measure measure = Measure::logged;
  bool higher_is_better = false;
  bool is_time() const { return measure != Measure::logged; }
};

Metric find_metric(const std::string& name) {
  if (name == "steps_to_target") return {name, Measure::steps, false};
  if (name == "flops_to_target") return {name, Measure::flops, false};
  if (name == "seconds_to_target") return {name, Measure::seconds, false};
  std::vector<std::string> names = {"steps_to_target", "flops_to_target", "seconds_to_target"};
  for (const auto& row : metric_catalogue()) {
    if (row.name == name) return {name, Measure::logged, row.higher_is_better};
    names.push_back(row.name);
  }
  throw UsageError("no metric \"" + name + "\"" + did_you_mean(name, names), "known: " + join(names));
}

stats::Outcome outcome_of(const FoundRun& run, const Metric& metric) {
  if (!run.summary || run.summary->end == RunEnd::diverged) return std::nullopt;
  const auto* found = run.summary->find(metric.name);
  return found && std::isfinite(found->final_value) ? stats::Outcome(found->final_value) : std::nullopt;
}

// Training FLOPs: forward once, backward twice.
double flops_of(const FoundRun& run, double tokens) { return 3.0 * tokens * static_cast<double>(run.flops_per_token); }

stats::Hit hit_of(const FoundRun& run, Measure measure) {
  const auto budget_steps = static_cast<double>(std::max<std::int64_t>(1, run.budget_steps));
  const bool hit = run.summary && run.summary->hit && run.summary->end == RunEnd::done;
  const double step = hit ? static_cast<double>(run.summary->hit->step) : 0;
  const auto timed = [&](double time, double budget) {
    return stats::Hit{hit ? std::optional<double>(time) : std::nullopt, std::max(budget, 1e-9)};
  };
  switch (measure) {
    case Measure::flops:
      return timed(flops_of(run, step * static_cast<double>(run.tokens_per_step)),
                   flops_of(run, budget_steps * static_cast<double>(run.tokens_per_step)));
    case Measure::seconds:
      return timed(hit ? run.summary->hit->time_s : 0,
                   run.summary ? std::max(run.summary->train_seconds, hit ? run.summary->hit->time_s : 0) : 1);
    default:
      return timed(step, budget_steps);
  }
}

bool is_over(const FoundRun& run) {
  return run.state == RunState::done || run.state == RunState::diverged || run.state == RunState::failed;
}

// ---- one group

GroupResult summarise(const std::string& value, const std::vector<const FoundRun*>& runs, const Metric& metric, double alpha) {
  GroupResult group;
  group.value = value;
  std::vector<stats::Hit> hits, over;
  double seconds_to_target = 0;
  std::size_t with_summary = 0;
  for (const auto* run : runs) {
    ++group.num_runs;
    group.num_done += run->state == RunState::done;
    group.num_diverged += run->state == RunState::diverged;
    group.num_failed += run->state == RunState::failed;
    group.num_pending += !is_over(*run);
    group.has_target = group.has_target || run->keys.count("train.target.metric") > 0;
    if (!is_over(*run)) continue;
    const auto steps = hit_of(*run, Measure::steps);
    over.push_back(steps);
    if (steps.reached()) ++group.num_hits, seconds_to_target += run->summary->hit->time_s;
    if (run->summary) {
      ++with_summary;
      group.parameters = run->summary->cost.parameters;
      group.flops_per_token = run->summary->cost.flops;
      group.train_seconds += run->summary->train_seconds;
    }
    if (metric.is_time()) {
      hits.push_back(hit_of(*run, metric.measure));
      group.values.push_back(hits.back().reached() ? *hits.back().time : INFINITY);
    } else if (const auto outcome = outcome_of(*run, metric)) {
      group.values.push_back(*outcome);
    }
  }
  if (with_summary > 0) group.train_seconds /= static_cast<double>(with_summary);
  if (group.num_hits > 0) group.seconds_to_target = seconds_to_target / static_cast<double>(group.num_hits);
  if (metric.is_time() && !hits.empty()) {
    // The mean of those that got there would leave out the ones that matter; this one counts "never" as the budget.
    const auto curve = stats::kaplan_meier(hits);
    const auto restricted = stats::restricted_mean(curve, curve.follow_up);
    group.mean = restricted.mean;
    group.half_width = 1.96 * restricted.standard_error;
    group.iqm = stats::interquartile_mean(group.values);
  } else if (!group.values.empty()) {
    group.mean = stats::mean(group.values);
    group.iqm = stats::interquartile_mean(group.values);
    if (group.values.size() > 1) group.half_width = *group.mean - stats::t_interval(group.values, 1 - alpha).low;
  }
  if (group.has_target && !over.empty()) {
    const auto curve = stats::kaplan_meier(over);
    group.median_steps = stats::median_time(curve);
    group.restricted_mean_steps = stats::restricted_mean(curve, curve.follow_up).mean;
  }
  return group;
}

// ---- one pair

// Runs by seed; a seed that occurs twice in a group keeps its first run.
std::map<std::int64_t, const FoundRun*> by_seed(const std::vector<const FoundRun*>& runs) {
  std::map<std::int64_t, const FoundRun*> out;
  for (const auto* run : runs) {
    if (is_over(*run)) out.insert({run->seed, run});
  }
  return out;
}

std::optional<PairResult> compare_pair(const std::vector<const FoundRun*>& runs, const std::vector<const FoundRun*>& reference,
                                       const Metric& metric, const stats::CompareOptions& options) {
  const auto a = by_seed(runs), b = by_seed(reference);
  std::vector<stats::Outcome> values, reference_values;
  std::vector<stats::Hit> hits, reference_hits;
  for (const auto& [seed, run] : a) {
    const auto other = b.find(seed);
    if (other == b.end()) continue;
    if (metric.is_time()) {
      hits.push_back(hit_of(*run, metric.measure));
      reference_hits.push_back(hit_of(*other->second, metric.measure));
    } else {
      values.push_back(outcome_of(*run, metric));
      reference_values.push_back(outcome_of(*other->second, metric));
    }
  }
  const std::size_t paired = values.size() + hits.size();
  if (paired == 0) return std::nullopt;
  PairResult result;
  result.unpaired_seeds = a.size() + b.size() - 2 * paired;
  const auto direction = metric.higher_is_better ? stats::Direction::higher_is_better : stats::Direction::lower_is_better;
  result.paired = metric.is_time() ? stats::compare_hits(hits, reference_hits, options).paired
                                   : stats::compare_paired(values, reference_values, direction, options);
  return result;
}

std::string pick_by(const std::string& asked, const std::vector<FoundRun>& runs, const std::vector<std::string>& varying) {
  if (!asked.empty()) {
    for (const auto& run : runs) {
      if (asked == "variant" || run.keys.count(asked)) return asked;
    }
    throw UsageError("no run has a key \"" + asked + "\"" + did_you_mean(asked, varying), "keys that vary here: " + join(varying));
  }
  return varying.empty() ? "model.ffn.activation" : varying[0];
}

// Numbers in order of size, words in the order in which they were found.
std::vector<std::string> ordered_values(const std::vector<FoundRun>& runs, const std::string& by) {
  std::vector<std::string> values;
  for (const auto& run : runs) {
    if (std::find(values.begin(), values.end(), value_of(run, by)) == values.end()) values.push_back(value_of(run, by));
  }
  const auto number = [](const std::string& text) {
    char* end = nullptr;
    const double x = std::strtod(text.c_str(), &end);
    return end && *end == '\0' && !text.empty() ? std::optional<double>(x) : std::nullopt;
  };
  const bool numeric = std::all_of(values.begin(), values.end(), [&](const auto& v) { return number(v).has_value(); });
  if (numeric) std::sort(values.begin(), values.end(), [&](const auto& x, const auto& y) { return *number(x) < *number(y); });
  return values;
}

}  // namespace

namespace {

bool is_computing(const std::string& key) { return key.rfind("compute.", 0) == 0; }

// A result counts whatever computed it: unless that is what is compared, it makes no other run.
std::vector<FoundRun> without_computing(std::vector<FoundRun> runs, const std::string& by) {
  if (is_computing(by)) return runs;
  for (auto& run : runs) {
    for (auto at = run.keys.begin(); at != run.keys.end();) at = is_computing(at->first) ? run.keys.erase(at) : std::next(at);
  }
  return runs;
}

// A run that was trained alone and again within a study, or copied, is one replicate.
std::vector<FoundRun> without_copies(const std::vector<FoundRun>& runs, const std::string& by, std::vector<std::string>& notes) {
  std::vector<FoundRun> out;
  std::set<std::string> seen;
  for (const auto& run : runs) {
    const std::string computing = is_computing(by) || by == "variant" ? " " + value_of(run, by) : "";
    const bool known = is_over(run) && !run.identity.empty() && !seen.insert(run.identity + computing).second;
    if (!known) out.push_back(run);
  }
  if (out.size() < runs.size()) notes.push_back(std::to_string(runs.size() - out.size()) + " runs were found twice and are counted once");
  // Failed runs have no summary; one of the same variant tells what a token costs.
  for (auto& run : out) {
    for (const auto& other : out) {
      if (run.flops_per_token == 0 && other.keys == run.keys) run.flops_per_token = other.flops_per_token;
    }
  }
  return out;
}

// Variants that were computed differently differ by rounding, too; and a run that went on elsewhere has no bits to repeat.
void note_computing(const std::vector<FoundRun>& runs, Comparison& out) {
  std::map<std::string, std::set<std::string>> used;  // value of `by` → what computed its runs
  std::size_t moved = 0;
  for (const auto& run : runs) {
    if (!run.summary || run.summary->computed_by.empty()) continue;
    used[value_of(run, out.by)].insert(run.summary->computed_by.back());
    moved += run.summary->computed_by.size() > 1;
  }
  const bool differ = std::any_of(used.begin(), used.end(), [&](const auto& entry) { return entry.second != used.begin()->second; });
  if (differ && !is_computing(out.by)) {
    std::vector<std::string> parts;
    for (const auto& [value, engines] : used) parts.push_back(value + " by " + join({engines.begin(), engines.end()}, " and by "));
    out.notes.push_back("variants were computed differently, which rounds differently: " + join(parts, "; "));
  }
  if (moved > 0)
    out.notes.push_back(
        std::to_string(moved) +
        " runs went on under another engine or processor than they began with: their bits may differ from an undisturbed run's");
}

void add_notes(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, Comparison& out) {
  std::vector<std::string> along;
  // A kind brings its own keys along; that is what it means to vary it.
  const auto dot = out.by.rfind(".kind");
  const std::string own = dot != std::string::npos && dot + 5 == out.by.size() ? out.by.substr(0, dot + 1) : "\n";
  for (const auto& key : varying) {
    if (key.rfind(own, 0) == 0) continue;
    if (key != out.by && out.by != "variant" && determines(runs, out.by, key) && determines(runs, key, out.by)) along.push_back(key);
  }
  if (!along.empty()) out.notes.push_back(out.by + " does not vary alone: with it go " + join(along));
  std::size_t lonely = 0;
  for (const auto& facet : out.facets) lonely += facet.pairs.empty();
  if (lonely > 0 && out.metric != "seconds_to_target") {
    out.notes.push_back(std::to_string(lonely) + " of " + std::to_string(out.facets.size()) + " groups have no pair with " + out.by +
                        " = " + out.reference + " that is finished");
  }
  note_computing(runs, out);
  std::set<std::int64_t> budgets;
  for (const auto& run : runs) budgets.insert(run.budget_steps);
  if (budgets.size() > 1 && find_metric(out.metric).is_time()) {
    out.notes.push_back("budgets differ (" + std::to_string(*budgets.begin()) + " to " + std::to_string(*budgets.rbegin()) +
                        " steps): pairs are compared up to the smaller one");
  }
  if (out.metric == "seconds_to_target") {
    out.notes.push_back(
        "seconds are shown, not judged: they tell how busy the machine was as well as what a variant costs; use steps_to_target or "
        "flops_to_target");
  }
}

}  // namespace

Comparison compare_runs(const std::vector<FoundRun>& found, const CompareRequest& request) {
  if (found.empty()) throw DataError("there are no runs to compare", "train first: ffn-train --config experiments/activations.json");
  Comparison out;
  const auto runs = without_copies(without_computing(found, request.config.by), request.config.by, out.notes);
  const auto varying = varying_keys(runs);
  out.by = pick_by(request.config.by, runs, varying);
  out.alpha = request.config.alpha, out.min_effect = request.config.min_effect;
  const bool any_target =
      std::any_of(runs.begin(), runs.end(), [](const FoundRun& run) { return run.keys.count("train.target.metric") > 0; });
  out.metric = !request.config.metric.empty() ? request.config.metric : any_target ? "steps_to_target" : "val/loss";
  const Metric metric = find_metric(out.metric);
  if (metric.is_time() && !any_target)
    throw UsageError("no run has a target, so there is no " + out.metric, "set train.target, or compare --metric val/loss");
  out.higher_is_better = metric.higher_is_better;
  const bool measured =
      std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) { return run.summary && run.summary->find(out.metric); });
  const bool any_done = std::any_of(runs.begin(), runs.end(), [](const FoundRun& run) { return run.state == RunState::done; });
  if (!metric.is_time() && any_done && !measured)
    throw UsageError("no run has logged " + out.metric, "`ffn-train list metrics` says which tasks have it");

  auto values = ordered_values(runs, out.by);
  out.reference = request.config.reference.empty() ? values[0] : request.config.reference;
  const auto reference = std::find(values.begin(), values.end(), out.reference);
  if (reference == values.end())
    throw UsageError("no run has " + out.by + " = " + out.reference + did_you_mean(out.reference, values), "values here: " + join(values));
  std::rotate(values.begin(), reference, reference + 1);

  const auto facet_by = facet_keys(runs, varying, out.by);
  std::vector<Keys> facets;
  std::map<Keys, std::map<std::string, std::vector<const FoundRun*>>> cells;
  for (const auto& run : runs) {
    Keys keys;
    for (const auto& key : facet_by) keys[key] = value_of(run, key);
    if (!cells.count(keys)) facets.push_back(keys);
    cells[keys][value_of(run, out.by)].push_back(&run);
  }
  std::sort(facets.begin(), facets.end(), [](const Keys& a, const Keys& b) {
    for (const auto& [key, x] : a) {
      const auto& y = b.at(key);
      if (x == y) continue;
      const double u = std::strtod(x.c_str(), nullptr), v = std::strtod(y.c_str(), nullptr);
      return u != v ? u < v : x < y;
    }
    return false;
  });

  stats::CompareOptions options;
  options.alpha = out.alpha, options.min_effect = out.min_effect, options.resamples = request.resamples;
  options.comparisons = std::max<std::size_t>(1, facets.size() * (values.size() - 1));
  std::vector<stats::PairedResult> family;
  std::size_t unpaired = 0;
  for (const auto& keys : facets) {
    auto& cell = cells[keys];
    Facet facet;
    facet.keys = keys;
    for (const auto& value : values) {
      if (!cell.count(value)) continue;
      facet.groups.push_back(summarise(value, cell[value], metric, out.alpha));
      if (value == out.reference || !cell.count(out.reference) || metric.measure == Measure::seconds) continue;
      if (auto pair = compare_pair(cell[value], cell[out.reference], metric, options)) {
        pair->value = value, pair->reference = out.reference;
        unpaired += pair->unpaired_seeds;
        family.push_back(pair->paired);
        facet.pairs.push_back(std::move(*pair));
      }
    }
    out.facets.push_back(std::move(facet));
  }
  out.num_comparisons = std::max(options.comparisons, family.size());
  std::size_t next = 0;
  const auto judgements = stats::judge(family);
  for (auto& facet : out.facets) {
    for (auto& pair : facet.pairs) pair.judgement = judgements[next++];
  }
  if (unpaired > 0) out.notes.push_back(std::to_string(unpaired) + " seeds are finished on one side of a pair only and are left out of it");
  add_notes(runs, varying, out);
  return out;
}

}  // namespace ffn
