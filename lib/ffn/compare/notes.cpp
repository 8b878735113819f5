#include "ffn/compare/notes.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/config/tuning.hpp"
#include "ffn/store/metrics_file.hpp"
#include "ffn/store/run_directory.hpp"

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
    out.notes.push_back((mixed ? "runs" : "variants") + std::string(" were computed differently, which rounds differently: ") +
                        join(parts, "; "));
  }
  if (moved > 0)
    out.notes.push_back(
        std::to_string(moved) + (moved == 1 ? " run" : " runs") +
        " went on under another engine or processor than they began with: bits may differ from those of an undisturbed run");
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
  if (!parts.empty()) out.notes.push_back("the variants differ in " + join(parts));
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
    if (!along.empty()) out.notes.push_back(key + " does not vary alone: with it " + (along.size() == 1 ? "goes " : "go ") + join(along));
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
  bool many = false;
  for (const auto& facet : out.facets) {
    for (const auto& pair : facet.pairs) {
      const bool never = pair.paired.missing_variant == pair.paired.num_seeds && pair.paired.missing_reference == pair.paired.num_seeds;
      many = many || (2 * pair.paired.ties >= pair.paired.num_seeds && !never);
    }
  }
  if (every > 1 && many)
    out.notes.push_back("many pairs are tied, since runs are evaluated every " + std::to_string(every) +
                        " steps: train.eval_every=" + std::to_string(std::max<std::int64_t>(1, every / 10)) + " would tell them apart");
}

// A hit is a hit; a run that was lost after it is none that one can use.
void note_lost_after_hit(Comparison& out) {
  std::map<std::string, std::size_t> lost;
  for (const auto& facet : out.facets) {
    for (const auto& group : facet.groups) {
      for (const auto& run : group.runs) lost[group.value] += run.state == RunState::diverged && run.value.has_value();
    }
  }
  std::vector<std::string> counts;
  for (const auto& [value, count] : lost) {
    if (count > 0) counts.push_back(shown_value(out, value) + ": " + std::to_string(count));
  }
  if (!counts.empty()) out.notes.push_back("some runs reached the target and diverged later; their hits count (" + join(counts) + ")");
}

struct Baseline {
  const MetricRow &metric, &value;
  const char* what;
};

constexpr Baseline kBaselines[] = {{metric::kValAccuracy, metric::kValMajorityAccuracy, "most frequent class of the training rows gives "},
                                   {metric::kValRmse, metric::kValMeanRmse, "mean of the training rows gives "},
                                   {metric::kValLoss, metric::kValFrequencyLoss, "class frequencies of the training rows give "}};

// Baselines of tables without a model: the mean of the runs, by file where there are several; and variants that lose to a loss of them.
void note_baseline(const std::vector<FoundRun>& runs, Comparison& out) {
  const std::string metric = without_best(out.metric);
  const auto* found =
      std::find_if(std::begin(kBaselines), std::end(kBaselines), [&](const auto& row) { return metric == row.metric.name; });
  if (found == std::end(kBaselines)) return;
  const bool is_loss = metric == metric::kValLoss.name;
  std::map<std::string, std::vector<double>> values;
  for (const auto& run : runs) {
    if (!run.summary || (is_loss && value_of(run, "train.loss") == "hinge")) continue;
    for (const auto& logged : run.summary->metrics) {
      if (logged.name == found->value.name) values[value_of(run, "task.file")].push_back(logged.final_value);
    }
  }
  std::vector<std::string> parts;
  std::set<std::string> worse;
  for (const auto& [file, of_runs] : values) {
    const double mean = std::accumulate(of_runs.begin(), of_runs.end(), 0.0) / static_cast<double>(of_runs.size());
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", mean);
    parts.push_back((values.size() > 1 ? shown_value(out, "task.file", file) + ": " : "") + text);
    if (values.size() > 1 || !is_loss) continue;
    for (const auto& facet : out.facets) {
      for (const auto& group : facet.groups) {
        if (group.mean && *group.mean > mean) worse.insert(shown_value(out, group.value));
      }
    }
  }
  if (parts.empty()) return;
  out.notes.push_back("without a model, the " + std::string(found->what) + out.metric + " " + join(parts) + " (" + found->value.name +
                      ", mean over the runs)" + (worse.empty() ? "" : "; worse: " + join({worse.begin(), worse.end()})));
}

// Limits of named tasks: no model, or no linear one, passes them.
void note_known(const std::vector<FoundRun>& runs, Comparison& out) {
  if (without_best(out.metric).rfind("val/", 0) != 0) return;
  std::set<std::string> names;
  for (const auto& run : runs) names.insert(value_of(run, "task.name"));
  for (const auto& row : named_tasks()) {
    if (names.count(row.name) > 0) out.notes.push_back("known of the task " + std::string(row.name) + ": " + row.known);
  }
}

// The bits per parameter of a layer that knew all facts; they depend on the layer's size.
void note_most_bits(const std::vector<FoundRun>& runs, Comparison& out) {
  if (without_best(out.metric) != metric::kValBitsPerParam.name) return;
  std::set<double> most;
  for (const auto& run : runs) {
    if (!run.summary) continue;
    for (const auto& logged : run.summary->metrics) {
      if (logged.name == metric::kValMostBitsPerParam.name) most.insert(logged.final_value);
    }
  }
  if (most.empty()) return;
  const auto shown = [](double bits) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", bits);
    return std::string(text);
  };
  const std::string range = most.size() == 1 ? "" : " to " + shown(*most.rbegin()) + ", by the layer's size";
  out.notes.push_back("all facts known would be " + shown(*most.begin()) + range + " (" + metric::kValMostBitsPerParam.name + ")" +
                      (runs.at(0).keys.count("task.draws") > 0 ? "; of facts that task.draws leaves out nothing can be known" : ""));
}

void add_scope(const std::string& words, Comparison& out) { out.scope += (out.scope.empty() ? "" : " and ") + words; }

// Seeds of a table or of images are no fresh data, as they are where a task draws its examples. Splits of the same rows are judged for
// other rows; seeds that share a test set are judged for this one.
void note_same_data(const std::vector<FoundRun>& runs, Comparison& out) {
  std::set<std::string> files;
  std::string seeds_do;
  for (const auto& run : runs) {
    const bool table = value_of(run, "task.kind") == "table";
    if (!table && value_of(run, "task.kind") != "images") continue;
    const std::string file = value_of(run, table ? "task.file" : "task.directory");
    files.insert((table ? "rows of " : "images of ") + (file == "-" ? "all " + out.over : file.substr(file.rfind('/') + 1)));
    if (!table) seeds_do = "share the test images, and draw no others";
    else if (value_of(run, "task.split") != "per_seed") seeds_do = "share one split of them, and draw no other rows";
  }
  if (files.empty()) return;
  const std::string data = join({files.begin(), files.end()}, " and ");
  const double ratio = held_out_per_training(runs);
  if (!seeds_do.empty()) {
    add_scope("of this test set", out);
    out.notes.push_back("verdicts are about the " + data + ": seeds " + seeds_do);
  }
  if (ratio == 0) return;
  add_scope("of rows like these", out);
  char shown[32];
  std::snprintf(shown, sizeof shown, "%.3g", ratio);
  out.notes.push_back("seeds draw other splits of the " + data + ", which are no replicates: the test adds " + shown +
                      ", the held-out rows per training row, to 1/seeds (Nadeau & Bengio 2003), so " + TableConfig::kSeedsHelp +
                      ". ± is over splits of these rows");
}

// Seeds read one text, and other parts of it are no other texts.
void note_same_text(const std::vector<FoundRun>& runs, Comparison& out) {
  std::set<std::string> files;
  for (const auto& run : runs) {
    if (value_of(run, "task.kind") == "text") files.insert(value_of(run, "task.file"));
  }
  if (!files.empty()) add_scope(files.size() == 1 && out.over.empty() ? "of this text" : "of these texts", out);
  // Patterns of one function that each seed splits anew are no patterns of another.
  const auto splits_function = [](const FoundRun& run) {
    const auto held_out = run.keys.find("task.held_out");
    return value_of(run, "task.kind") == "function" && held_out != run.keys.end() && held_out->second != "0";
  };
  if (std::any_of(runs.begin(), runs.end(), splits_function)) add_scope("of this function", out);
}

// Seeds that go on from one set of weights replicate the training, not the start.
void note_same_start(const std::vector<FoundRun>& runs, Comparison& out) {
  std::set<std::string> starts;
  for (const auto& run : runs) {
    const auto start = run.keys.find("model.init_from");
    if (start != run.keys.end() && !start->second.empty() && !names_every_seed(start->second)) starts.insert(start->second);
  }
  if (starts.empty()) return;
  add_scope(starts.size() == 1 ? "from this start" : "from these starts", out);
  out.notes.push_back("all seeds of a variant start from the same weights: verdicts are about training from " +
                      join({starts.begin(), starts.end()}, " and ") + ", not from another start");
}

// Verdicts on layers of unlike sizes are verdicts on sizes, too.
void note_sizes(Comparison& out) {
  static const std::set<std::string> kSizes{"d_ff", "expansion", "d_model", "blocks", "num_experts", "shared_experts", "keys", "key_width"};
  if (out.by.rfind("task.", 0) == 0 || kSizes.count(out.by.substr(out.by.rfind('.') + 1)) > 0) return;
  constexpr double kAlike = 1.05;
  const auto size_of = [](const GroupResult& group) { return static_cast<double>(group.parameters); };
  for (const auto& facet : out.facets) {
    const auto [least, most] = std::minmax_element(facet.groups.begin(), facet.groups.end(),
                                                   [&](const auto& a, const auto& b) { return size_of(a) < size_of(b); });
    if (least == facet.groups.end() || size_of(*least) == 0 || size_of(*most) <= kAlike * size_of(*least)) continue;
    const auto shown = [&](const GroupResult& group) { return shown_value(out, group.value) + " has " + std::to_string(group.parameters); };
    out.notes.push_back("sizes differ: " + shown(*least) + " parameters, " + shown(*most) +
                        (out.facets.size() > 1 ? ", and so in other groups" : ""));
    return;
  }
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Losses of runs that were trained for too long say little about their variants.
void note_overfitted(const std::vector<FoundRun>& runs, Comparison& out) {
  constexpr double kRisen = 1.05;
  if (out.higher_is_better || out.metric.rfind("val/", 0) != 0) return;
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> of_value;  // end / minimum, and its step
  double last = 0;
  for (const auto& run : runs) {
    const auto* found = run.summary && run.state == RunState::done ? run.summary->find(out.metric) : nullptr;
    if (!found || !found->best || !(found->best->value > 0)) continue;
    auto& [risen, steps] = of_value[value_of(run, out.by)];
    risen.push_back(found->final_value / found->best->value);
    steps.push_back(static_cast<double>(found->best->step));
    last = std::max(last, static_cast<double>(run.summary->steps));
  }
  std::vector<std::string> parts;
  double first = last;
  for (const auto& [value, found] : of_value) {
    const double risen = median_of(found.first), step = median_of(found.second);
    if (!(risen >= kRisen) || 2 * step > last) continue;  // late minima are noise
    parts.push_back(shown_value(out, value) + " by " + percent_text(risen - 1) + " since step " + number_text(step));
    if (step > 0) first = std::min(first, step);
  }
  if (!parts.empty())
    out.notes.push_back(
        out.metric + " rose after its minimum (" + join(parts) + "): runs were trained for too long. compare.metric=\"best " + out.metric +
        "\" compares the minima" +
        (first < last ? "; tune.train.steps=" + number_text(first) + "," + number_text(last) + " chooses when to stop" : ""));
}

// Reads one curve of each variant: thousands would take long.
void note_still_falling(const std::vector<FoundRun>& runs, Comparison& out) {
  constexpr double kFalls = 1.05, kTenth = 0.9;
  constexpr std::size_t kMost = 12;
  if (out.higher_is_better || out.metric.rfind("val/", 0) != 0) return;
  std::map<std::string, const FoundRun*> one;  // of each value
  for (const auto& run : runs) {
    if (run.summary && run.state == RunState::done && run.summary->steps == run.budget_steps &&
        run.summary->files.count(RunDirectory(run.path).metrics_path().filename().string()) > 0)
      one.emplace(value_of(run, out.by), &run);
  }
  std::vector<std::string> parts;
  for (const auto& of_value : one) {
    const FoundRun* run = of_value.second;
    if (one.size() > kMost) return;
    double before = 0, end = 0;
    try {
      const auto path = RunDirectory(run->path).metrics_path();
      for_each_evaluation(read_metrics_up_to(path, run->summary->files.at(path.filename().string())), path,
                          [&](const Evaluation& evaluation) {
                            for (const auto& [name, logged] : evaluation.metrics) {
                              if (name != out.metric) continue;
                              if (static_cast<double>(evaluation.step) <= kTenth * static_cast<double>(run->budget_steps)) before = logged;
                              end = logged;
                            }
                          });
    } catch (const Error&) {  // `check` says so
      continue;
    }
    const auto* found = run->summary->find(out.metric);
    const bool is_lowest = found && found->best && end <= found->best->value * kFalls;
    if (is_lowest && end > 0 && before >= kFalls * end)
      parts.push_back(shown_value(out, of_value.first) + " by " + percent_text(1 - end / before));
  }
  if (!parts.empty())
    out.notes.push_back(out.metric + " still falls over the last tenth of the steps (" + join(parts) +
                        "): after more train.steps the answer may be another");
}

void note_unmeasured(Comparison& out) {
  std::set<std::string> values;
  for (const auto& facet : out.facets) {
    for (const auto& group : facet.groups) {
      if (group.num_unmeasured > 0) values.insert(shown_value(out, group.value));
    }
  }
  if (!values.empty())
    out.notes.push_back(out.metric + " is not measured with " + out.by + " = " + join({values.begin(), values.end()}) +
                        ", and not compared there");
}

// Choices by another metric than the compared one, choices at the ends of their grid, and what one choice leaves open.
void note_tuning(Comparison& out) {
  if (!out.tuned) return;
  const auto& tuned = *out.tuned;
  if (const auto same = tuning_metric(out.metric); tuned.metric != same)
    out.notes.push_back("values were chosen by " + tuned.metric + " and are compared by " + out.metric +
                        ", which other values may suit better; tune.metric=" + same + " chooses by what is compared");
  for (std::size_t i = 0; i < tuned.keys.size(); ++i) {
    std::vector<std::string> at_edge;
    for (const auto& variant : tuned.variants) {
      if (std::find(variant.edge.begin(), variant.edge.end(), tuned.keys[i]) != variant.edge.end()) at_edge.push_back(variant.name);
    }
    if (at_edge.empty()) continue;
    out.notes.push_back(tuned.per_seed
                            ? "half of the seeds or more chose the lowest " + tuned.keys[i] + " that was tried, or the highest, for " +
                                  join(at_edge) +
                                  ": a wider grid may do better (by itself it grows where the first 5 seeds together do best at its end)"
                            : "the chosen " + tuned.keys[i] + " is the lowest or highest that was tried for " + join(at_edge) +
                                  ": a wider grid may do better");
  }
  if (tuned.variants.size() < 2 || tuned.per_seed) return;
  std::size_t judging_seeds = 0;
  for (const auto& facet : out.facets) {
    for (const auto& group : facet.groups) judging_seeds = std::max(judging_seeds, group.num_runs);
  }
  if (auto caution = caution_about_one_choice(tuned.seeds, judging_seeds, out.min_effect); !caution.empty())
    out.notes.push_back(std::move(caution));
}

}  // namespace

std::string caution_about_one_choice(std::size_t tuning_seeds, std::size_t judging_seeds, double min_effect) {
  constexpr std::size_t kMeasured = 5;
  constexpr std::size_t kSeedsForChosen = 20;
  if (judging_seeds >= kSeedsForChosen && min_effect > 0) return "";
  const std::string here = tuning_seeds < kMeasured ? " (more with tune.seeds=" + std::to_string(tuning_seeds) + ")" : "";
  return "one choice for all seeds: up to 23 % of studies give equal variants a verdict" + here + "; tune.retune=per_seed, or " +
         (judging_seeds < kSeedsForChosen ? "20 seeds and a compare.min_effect" : "a compare.min_effect") + ", avoids it";
}

void note_constant(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, Comparison& out) {
  const auto values = ordered_values(runs, out.by);
  if (values.size() > 1) return;
  out.notes.push_back(out.by + " does not vary (it is " + values[0] + " in every run), so by it there is nothing to compare; " +
                      (varying.empty() ? "no key varies here" : "keys that vary here: " + join(varying)));
}

void add_notes(const std::vector<FoundRun>& runs, const std::vector<std::string>& varying, const std::set<std::string>& within,
               bool is_time, Comparison& out) {
  note_tuning(out);
  note_what_goes_along(runs, varying, note_labels(runs, within, out), out);
  note_sizes(out);
  note_unmeasured(out);
  note_overfitted(runs, out);
  note_still_falling(runs, out);
  note_baseline(runs, out);
  note_most_bits(runs, out);
  note_known(runs, out);
  note_same_data(runs, out);
  note_same_text(runs, out);
  note_same_start(runs, out);
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
  if (lonely > 0 && !unjudged) {
    out.notes.push_back(std::to_string(lonely) + " of " + std::to_string(out.facets.size()) + " groups have no pair with " + out.by +
                        " = " + out.reference + " that is finished");
  }
  note_computing(runs, out);
  std::set<std::int64_t> budgets;
  for (const auto& run : runs) budgets.insert(run.budget_steps);
  out.mixed_budgets = budgets.size() > 1;
  if (budgets.size() > 1 && is_time) {
    out.notes.push_back("budgets differ (" + std::to_string(*budgets.begin()) + " to " + std::to_string(*budgets.rbegin()) +
                        " steps): pairs are compared up to the smaller one");
  }
  if (out.metric == "seconds_to_target") {
    out.notes.push_back(
        "seconds are shown, not judged: they tell how busy the machine was as well as what a variant costs; use steps_to_target or "
        "flops_to_target");
  }
}

}  // namespace ffn
