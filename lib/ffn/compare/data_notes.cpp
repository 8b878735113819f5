#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/notes.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/config/named_tasks.hpp"
#include "ffn/store/metrics_file.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn {

namespace {

std::string formatted(const char* format, double x) {
  char text[32];
  std::snprintf(text, sizeof text, format, x);
  return text;
}

struct Baseline {
  const MetricRow &metric, &value;
  const char *what, *gives;
};

constexpr Baseline kBaselines[] = {{metric::kValAccuracy, metric::kValMajorityAccuracy, "most frequent class", "gives"},
                                   {metric::kValRmse, metric::kValMeanRmse, "mean", "gives"},
                                   {metric::kValLoss, metric::kValFrequencyLoss, "class frequencies", "give"}};

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
    parts.push_back((values.size() > 1 ? shown_value(out, "task.file", file) + ": " : "") + formatted("%.3g", mean));
    if (values.size() > 1 || !is_loss) continue;
    for_each_group(out, [&, mean = mean](const Facet&, const GroupResult& group) {
      if (group.mean && *group.mean > mean) worse.insert(shown_value(out, group.value));
    });
  }
  if (parts.empty()) return;
  add_note(note::kBaseline,
           {found->what, found->gives, out.metric, join(parts), found->value.name,
            worse.empty() ? "" : "; worse: " + join({worse.begin(), worse.end()})},
           out);
}

// A model of a text that needs more bits than gzip has learned little of it.
void note_compressor(const std::vector<FoundRun>& runs, Comparison& out) {
  const std::string metric = without_best(out.metric);
  const auto is_loss = [&](const MetricRow& row) { return metric == row.name; };
  if (!is_loss(metric::kValLoss) && !is_loss(metric::kValBitsPerChar) && !is_loss(metric::kValBitsPerByte)) return;
  std::map<std::string, std::vector<double>> compressed, of_variant;
  for (const auto& run : runs) {
    const auto* gzip = run.summary ? run.summary->find(metric::kValGzipBitsPerByte.name) : nullptr;
    const auto* bits = gzip ? run.summary->find(metric::kValBitsPerByte.name) : nullptr;
    if (!bits) continue;
    compressed[value_of(run, "task.file")].push_back(gzip->final_value);
    of_variant[value_of(run, out.by)].push_back(bits->final_value - gzip->final_value);
  }
  const auto mean = [](const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); };
  std::vector<std::string> needs, worse;
  for (const auto& [file, bits] : compressed)
    needs.push_back((compressed.size() > 1 ? shown_value(out, "task.file", file) + ": " : "") + formatted("%.3g", mean(bits)));
  for (const auto& [value, more] : of_variant) {
    if (!(mean(more) <= 0)) worse.push_back(shown_value(out, value) + " by " + formatted("%.2g", mean(more)));
  }
  if (needs.empty()) return;
  add_note(note::kCompressor, {join(needs), metric::kValGzipBitsPerByte.name, worse.empty() ? "" : "; these need more: " + join(worse)},
           out);
}

// Limits of named tasks: no model, or no linear one, passes them.
void note_known(const std::vector<FoundRun>& runs, Comparison& out) {
  if (without_best(out.metric).rfind("val/", 0) != 0) return;
  std::set<std::string> names;
  for (const auto& run : runs) names.insert(value_of(run, "task.name"));
  for (const auto& row : named_tasks()) {
    if (names.count(row.name) > 0) add_note(note::kKnown, {row.name, row.known}, out);
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
  const std::string range = most.size() == 1 ? "" : " to " + formatted("%.3g", *most.rbegin()) + ", by the layer's size";
  add_note(note::kMostBits,
           {formatted("%.3g", *most.begin()) + range, metric::kValMostBitsPerParam.name,
            runs.at(0).keys.count("task.draws") > 0 ? "; of facts that task.draws leaves out nothing can be known" : ""},
           out);
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
    add_note(note::kSameRows, {data, seeds_do}, out);
  }
  if (ratio == 0) return;
  add_scope("of rows like these", out);
  add_note(note::kSplits, {data, formatted("%.3g", ratio), TableConfig::kSeedsHelp}, out);
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
  add_note(note::kSameStart, {join({starts.begin(), starts.end()}, " and ")}, out);
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
    parts.push_back(shown_value(out, value) + " by " + formatted("%.0f %%", 100 * (risen - 1)) + " since step " + number_text(step));
    if (step > 0) first = std::min(first, step);
  }
  const std::string when =
      first < last ? "; tune.train.steps=" + number_text(first) + "," + number_text(last) + " chooses when to stop" : "";
  if (!parts.empty()) add_note(note::kOverfitted, {out.metric, join(parts), out.metric, when}, out);
}

// Reads one curve of each variant: thousands would take long. Needs an evaluation between 80 and 90 % of the steps.
void note_still_falling(const std::vector<FoundRun>& runs, Comparison& out) {
  constexpr double kFalls = 1.05, kEarliest = 0.8, kTenth = 0.9;
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
                              const double share = static_cast<double>(evaluation.step) / static_cast<double>(run->budget_steps);
                              if (share >= kEarliest && share <= kTenth) before = logged;
                              end = logged;
                            }
                          });
    } catch (const Error&) {  // `check` says so
      continue;
    }
    const auto* found = run->summary->find(out.metric);
    const bool is_lowest = found && found->best && end <= found->best->value * kFalls;
    if (is_lowest && end > 0 && before >= kFalls * end)
      parts.push_back(shown_value(out, of_value.first) + " by " + formatted("%.0f %%", 100 * (1 - end / before)));
  }
  if (!parts.empty()) add_note(note::kStillFalling, {out.metric, join(parts)}, out);
}

}  // namespace

void add_data_notes(const std::vector<FoundRun>& runs, Comparison& out) {
  note_overfitted(runs, out);
  note_still_falling(runs, out);
  note_baseline(runs, out);
  note_compressor(runs, out);
  note_most_bits(runs, out);
  note_known(runs, out);
  note_same_data(runs, out);
  note_same_text(runs, out);
  note_same_start(runs, out);
}

}  // namespace ffn
