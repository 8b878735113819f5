#include "ffn/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "ffn/base/error.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/side_by_side.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/cautions.hpp"
#include "ffn/compare/contrasts.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/groups.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/notes.hpp"
#include "ffn/compare/one_pair.hpp"
#include "ffn/compare/outcomes.hpp"
#include "ffn/compare/pair_scale.hpp"
#include "ffn/compare/pairs.hpp"
#include "ffn/compare/pooled.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/sequential.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/unpaired.hpp"
#include "ffn/store/seen_runs.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn {

namespace {

// Not when the run ends.
bool is_of_target(const std::string& key) { return key != "train.target.stop" && key != "train.target.patience"; }

// Keys whose values differ within a facet: what is compared with each other.
std::set<std::string> keys_within(const std::vector<Cell>& cells, const std::vector<std::string>& varying) {
  std::set<std::string> out;
  for (const auto& key : varying) {
    for (const auto& cell : cells) {
      const FoundRun* const first = cell.runs.begin()->second.at(0);
      for (const auto& [value, runs] : cell.runs) {
        if (std::any_of(runs.begin(), runs.end(), [&](const FoundRun* run) { return value_of(*run, key) != value_of(*first, key); }))
          out.insert(key);
      }
    }
  }
  return out;
}

// Why the values of `by` have no common scale, and the keys that make it so.
struct Unlike {
  std::string what;
  std::vector<std::string> keys;
  bool with_any_metric = false;
};

Unlike unlike_in(const std::set<std::string>& within, const std::vector<FoundRun>& runs, const Metric& metric) {
  const auto those = [&](const auto& holds) {
    std::vector<std::string> out;
    std::copy_if(within.begin(), within.end(), std::back_inserter(out), holds);
    return out;
  };
  const auto begins = [](const std::string& key, const char* beginning) { return key.rfind(beginning, 0) == 0; };
  std::set<std::string> names{without_best(metric.name)};  // or those that a time is the time to
  if (metric.is_time()) {
    for (const auto& run : runs) names.insert(value_of(run, "train.target.metric"));
  }
  const bool is_of_training = names.count(metric::kTrainLoss.name) > 0,
             is_of_loss = is_of_training || names.count(metric::kValLoss.name) > 0;
  if (auto keys = those([&](const auto& key) { return begins(key, "task."); }); !keys.empty()) return {"different tasks", keys, true};
  if (auto keys = those(
          [&](const auto& key) { return (is_of_loss && begins(key, "train.loss")) || (is_of_training && key == "train.label_smoothing"); });
      !keys.empty())
    return {metric.is_time() ? "times to values of different losses" : "values of different losses", keys};
  if (!metric.is_time()) return {};
  if (auto keys = those([&](const auto& key) { return begins(key, "train.target") && is_of_target(key); }); !keys.empty())
    return {"times to different targets", keys};
  return {"times that were measured differently",
          those([](const auto& key) { return key == "train.eval_every" || key == "train.eval_examples"; })};
}

std::map<std::string, std::string> shared_keys(const std::vector<FoundRun>& runs) {
  auto out = runs.at(0).keys;
  for (auto at = out.begin(); at != out.end();) {
    const bool differs = std::any_of(runs.begin(), runs.end(), [&](const FoundRun& run) { return value_of(run, at->first) != at->second; });
    at = differs ? out.erase(at) : std::next(at);
  }
  return out;
}

// Tuned keys, and keys that come with a tuned kind: one variant has several values of them.
std::set<std::string> keys_of_choices(const std::vector<FoundRun>& runs, const std::vector<std::string>& tuned) {
  std::set<std::string> out(tuned.begin(), tuned.end());
  std::map<std::string, const FoundRun*> first;  // of each variant
  for (const auto& run : runs) {
    const FoundRun* const before = first.emplace(run.variant, &run).first->second;
    for (const auto* one : {before, &run}) {
      for (const auto& [key, value] : one->keys) {
        if (value_of(*before, key) != value_of(run, key)) out.insert(key);
      }
    }
  }
  return out;
}

// One table over several tasks would rank what has no common scale.
void refuse_mixed_tasks(const std::vector<FoundRun>& runs, const std::string& by) {
  if (by.rfind("task.", 0) == 0) return;
  std::map<std::string, std::set<std::string>> places;  // task → studies, and runs that belong to none
  for (const auto& run : runs) {
    const auto study = run.path.parent_path().parent_path();
    places[value_of(run, "task.kind")].insert((has_study_file(study) ? study : run.path.parent_path()).string());
  }
  if (places.size() < 2) return;
  std::string list;
  for (const auto& [task, there] : places) list += "\n  " + task + ": " + join({there.begin(), there.end()});
  throw UsageError("these are runs of different tasks:" + list, "compare the directories of one task, or --by task.kind");
}

// The values of `by`, the reference first.
std::vector<std::string> values_from_reference(const std::vector<FoundRun>& runs, const std::string& asked, const Comparison& c,
                                               bool in_given_order) {
  const std::string& by = c.by;
  auto values = ordered_values(runs, by, in_given_order);
  const std::string wanted = asked.empty() ? values[0] : asked;
  auto reference = std::find_if(values.begin(), values.end(),
                                [&](const std::string& value) { return !asked.empty() && shown_value(c, value) == asked; });
  if (reference == values.end()) reference = std::find(values.begin(), values.end(), wanted);
  if (reference == values.end()) {
    for (auto& value : values) value = shown_value(c, value);
    throw UsageError("no run has " + by + " = " + wanted + did_you_mean(wanted, values),
                     "values here: " + join(values) + "; compare.reference=VALUE, or --reference VALUE, names another one");
  }
  std::rotate(values.begin(), reference, reference + 1);
  return values;
}

// Numbers by size.
bool facet_before(const Keys& a, const Keys& b) {
  for (const auto& [key, x] : a) {
    const auto& y = b.at(key);
    if (x == y) continue;
    const double u = std::strtod(x.c_str(), nullptr), v = std::strtod(y.c_str(), nullptr);
    return u != v ? u < v : x < y;
  }
  return false;
}

std::vector<Cell> into_cells(const std::vector<FoundRun>& runs, const std::vector<std::string>& facet_by, const std::string& by) {
  std::vector<Cell> cells;
  for (const auto& run : runs) {
    Keys keys;
    for (const auto& key : facet_by) keys[key] = value_of(run, key);
    auto cell = std::find_if(cells.begin(), cells.end(), [&](const Cell& c) { return c.keys == keys; });
    if (cell == cells.end()) cell = cells.insert(cell, {keys, {}});
    cell->runs[value_of(run, by)].push_back(&run);
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) { return facet_before(a.keys, b.keys); });
  return cells;
}

}  // namespace

std::string target_text(const FoundRun& run) {
  std::string target;
  for (const auto& [key, value] : run.keys) {
    if (key.rfind("train.target.", 0) == 0 && is_of_target(key)) target += (target.empty() ? "" : " ") + key.substr(13) + "=" + value;
  }
  return target;
}

std::size_t num_pending(const Comparison& c) {
  std::size_t pending = 0;
  for_each_group(c, [&](const Facet&, const GroupResult& group) { pending += group.num_pending; });
  return pending;
}

namespace {

// A pair that is to be compared: resampling it takes longer than anything else here, and pairs do not wait for each other.
struct PairJob {
  std::size_t facet;
  AskedPair asked;
  const RunGroup *runs, *reference;
  std::optional<PairResult> result;
};

std::vector<Facet> facets_of(const std::vector<Cell>& cells, const std::vector<std::string>& values, const Metric& metric,
                             const PairScale& scale, const stats::CompareOptions& options, const CompareRequest& request, bool judged) {
  const auto& pairs = request.config.pairs;
  const auto& sequential = request.sequential;
  std::vector<Facet> facets;
  std::vector<PairJob> jobs;
  for (const auto& cell : cells) {
    Facet facet;
    facet.keys = cell.keys;
    for (const auto& value : values) {
      const auto group = cell.runs.find(value);
      if (group != cell.runs.end()) facet.groups.push_back(summarise(value, group->second, metric, options.alpha));
    }
    for (auto& pair : judged ? pairs_in_family(cell, values, pairs) : std::vector<AskedPair>())
      jobs.push_back({facets.size(), pair, &cell.runs.at(pair.value), &cell.runs.at(pair.reference), std::nullopt});
    facets.push_back(std::move(facet));
  }
  side_by_side(std::max(1u, std::thread::hardware_concurrency()), jobs.size(), [&](std::size_t i) {
    const auto& job = jobs[i];
    jobs[i].result = request.unpaired ? compare_apart(*job.runs, *job.reference, metric, scale, request, options)
                                      : compare_pair(*job.runs, *job.reference, metric, scale, options, sequential);
  });
  for (auto& job : jobs) {
    if (!job.result) continue;
    job.result->value = job.asked.value;
    job.result->reference = job.asked.reference;
    auto& facet = facets[job.facet];
    (job.asked.reference == values[0] ? facet.pairs : facet.further_pairs).push_back(std::move(*job.result));
  }
  return facets;
}

// All pairs of all facets are one family, and so are the contrasts.
void judge_all(Comparison& out, std::size_t planned) {
  std::vector<PairResult*> pairs;
  std::size_t unpaired = 0;
  for_each_pair(out, [&](const Facet&, PairResult& pair) {
    pairs.push_back(&pair);
    unpaired += pair.unpaired_seeds;
  });
  for (auto& contrast : out.contrasts) pairs.push_back(&contrast.pair);
  std::vector<stats::PairedResult> family;
  for (const auto* pair : pairs) family.push_back(pair->paired);
  out.num_comparisons = std::max(planned, family.size());
  out.ratio_form = stats::ratio_form(family);
  const auto judgements = stats::judge(family);
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i]->judgement = judgements[i];
  if (unpaired > 0)
    add_note(note::kUnpaired, {std::to_string(unpaired) + (unpaired == 1 ? " seed is" : " seeds are"), unpaired == 1 ? "is" : "are"}, out);
}

}  // namespace

Comparison compare_runs(std::vector<FoundRun> found, const CompareRequest& request) {
  if (found.empty()) throw DataError("there are no runs to compare", "train first: ffn-train --config experiments/activations.json");
  const auto& asked = request.config;
  Comparison out;
  auto runs = without_copies(with_formulas_by_name(without_computing(std::move(found), asked.by)), asked.by, out);
  if (request.tuned) {
    for (const auto& key : keys_of_choices(runs, request.tuned->keys)) {
      for (auto& run : runs) {
        if (key != asked.by) run.keys.erase(key);
      }
    }
    out.tuned = request.tuned;
    for (auto& variant : out.tuned->variants) {
      const auto run =
          std::find_if(runs.begin(), runs.end(), [&](const FoundRun& r) { return r.variant == variant.name && !r.label.empty(); });
      if (run == runs.end()) continue;
      const std::string whole = variant.name;
      variant.name = run->label;
      const std::size_t of_size = request.ladder ? name_without_size(whole, request.ladder->key).size() : whole.size();
      if (of_size < whole.size()) variant.name += ", " + whole.substr(of_size + 1);
    }
  }
  if (request.ladder) {
    for (auto& run : runs) run.variant = name_without_size(run.variant, request.ladder->key);
  }
  for (const auto& run : runs) out.runs.push_back({run.path, run.seed, run.summary ? seen_values(run.seed, *run.summary) : ""});
  auto varying = varying_keys(runs);
  refuse_mixed_tasks(runs, asked.by);
  const Metric metric =
      request.higher_is_better ? Metric{asked.metric, Measure::logged, *request.higher_is_better} : pick_metric(asked.metric, runs);
  out.unpaired = request.unpaired;
  out.by = pick_by(asked.by, runs, varying);
  const PairScale scale(asked.scale, metric.name, metric.kind(),
                        metric.is_time() ? std::vector<stats::Outcome>() : outcomes_of(runs, metric));
  if (!asked.over.empty()) {
    if (request.sequential)
      throw UsageError("compare.over needs a fixed number of seeds", "give a number of seeds, or leave compare.over empty");
    out.over = pick_by(asked.over, runs, varying);
    runs = pooled_over(runs, out.over, out.by, metric, scale.as_ratios());
    varying = varying_keys(runs);
  }
  if (!asked.by.empty()) note_constant(runs, varying, out);
  out.metric = metric.name;
  out.shared = shared_keys(runs);
  out.higher_is_better = metric.higher_is_better;
  out.is_later_target =
      std::any_of(runs.begin(), runs.end(), [](const FoundRun& run) { return run.own_target && *run.own_target != target_text(run); });
  out.alpha = asked.alpha;
  out.min_effect = asked.min_effect;
  if (!request.tuned) out.rate = rate_of_untuned(runs, varying, out.by, request.ladder ? request.ladder->key : "");
  const auto facet_by = facet_keys(runs, varying, out.by, request.ladder ? request.ladder->key : "");
  name_keys_and_values(runs, facet_by, out);
  const auto values = values_from_reference(runs, asked.reference, out, request.in_given_order);
  out.reference = values[0];

  // Seconds are no replicates of each other; values of different tasks, losses, targets and evaluations have no common scale.
  const auto cells = into_cells(runs, facet_by, out.by);
  const auto within = keys_within(cells, varying);
  const auto unlike = unlike_in(within, runs, metric);
  const bool of_tasks = out.by.rfind("task.", 0) == 0, is_unlike = !unlike.keys.empty();
  out.mixed_scales = is_unlike && !of_tasks;
  const bool judged = metric.measure != Measure::seconds && !is_unlike;
  if (is_unlike)
    add_note(note::kUnlike,
             {unlike.what, of_tasks ? ""
                                    : (unlike.with_any_metric ? "; compare " : "; compare another metric, or ") +
                                          std::string("variants with the same ") + join(unlike.keys, " and ")},
             out);
  const auto contrasts = asked.interaction && judged ? asked_contrasts(cells, facet_by, values) : std::vector<AskedContrast>();
  stats::CompareOptions options;
  options.alpha = out.alpha;
  out.as_ratios = !metric.is_time() && scale.as_ratios();
  options.min_effect = scale.margin(out.min_effect);
  options.held_out_per_training = held_out_per_training(runs);
  out.splits_rows = options.held_out_per_training > 0;
  if (out.splits_rows && judged && asked.scale == "ranks")
    throw UsageError("compare.scale is ranks, but each seed splits the same rows of a table, and the test of such splits is of the mean",
                     "leave compare.scale at auto");
  options.resamples = request.resamples;
  options.comparisons = std::max<std::size_t>(1, (judged ? planned_pairs(cells, values, asked.pairs, metric) : 0) + contrasts.size());
  // Said here, which a study asks before it trains; the test itself would refuse at the end.
  if (judged && stats::most_comparisons(out.alpha) < options.comparisons) {
    throw UsageError("alpha " + number_text(out.alpha) + " over " + std::to_string(options.comparisons) +
                         " comparisons leaves less for each than the test resolves; at most " +
                         std::to_string(stats::most_comparisons(out.alpha)) + " can be judged",
                     "compare fewer values, split the study, or choose a larger alpha");
  }
  // Studies of earlier versions may have looked at tables sequentially: their seeds were no replicates then, either.
  auto applicable = request;
  if (out.splits_rows) applicable.sequential.reset();
  const auto& sequential = applicable.sequential;
  out.facets = facets_of(cells, values, metric, scale, options, applicable, judged);
  add_contrasts(contrasts, cells, metric, scale, options, out);
  judge_all(out, options.comparisons);
  if (sequential) judge_sequentially(out, *sequential, scale);
  withhold_exact_verdicts(runs, out);
  if (!metric.is_time()) {
    choose_shown(out);
    note_scale(asked.scale, out);
    note_bad_runs(out);
    note_skewed(out);
  } else {
    show_medians_of_hits(out);
  }
  add_ladder(cells, values, metric, request, out);
  if (asked.pairs == "best") keep_pairs_of_best(out);
  if (!out.over.empty()) note_crossed(out);
  add_notes(runs, varying, within, metric.is_time(), out);
  return out;
}

}  // namespace ffn
