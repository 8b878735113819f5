#include "ffn/compare/outcomes.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/error.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/config/metrics.hpp"

namespace ffn {

namespace {

// Metrics that a program logs have their keys: "engine.metrics.val/loss.json".
bool is_of_program(const FoundRun& run, const std::string& metric) {
  const std::string key = "engine.metrics." + without_best(metric);
  const auto at = run.keys.lower_bound(key);
  return at != run.keys.end() && at->first.rfind(key + ".", 0) == 0;
}

// The metric of a program's runs where none is asked for.
std::string usual_metric(const std::vector<FoundRun>& runs) {
  const std::string all = "engine.metrics.";
  const auto first = runs[0].keys.lower_bound(all);
  if (first == runs[0].keys.end() || first->first.rfind(all, 0) != 0 || is_of_program(runs[0], metric::kValLoss.name))
    return metric::kValLoss.name;
  return first->first.substr(all.size(), first->first.rfind('.') - all.size());
}

Metric find_metric(const std::string& name, bool is_of_a_program) {
  if (name == "steps_to_target") return {name, Measure::steps, false};
  if (name == "flops_to_target") return {name, Measure::flops, false};
  if (name == "seconds_to_target") return {name, Measure::seconds, false};
  if (const auto* row = find_metric_row(name)) return {name, Measure::logged, row->higher_is_better};
  if (const auto higher = usual_direction(name); higher && is_of_a_program) return {name, Measure::logged, *higher};
  std::vector<std::string> names = {"steps_to_target", "flops_to_target", "seconds_to_target"};
  for (const auto& row : metric_catalogue()) names.push_back(row.name);
  throw UsageError("no metric \"" + name + "\"" + did_you_mean(name, names), "known: " + join(names));
}

const MetricSummary* find_logged(const RunSummary& summary, const std::string& metric) { return summary.find(without_best(metric)); }

// Small tables overfit: their loss grows while the share of right answers does, too.
bool is_table_of_classes(const FoundRun& run) {
  const auto& label = value_of(run, "task.label");
  return value_of(run, "task.kind") == "table" && label != "-" && label != "null" && !label.empty();
}

// Training FLOPs: forward once, backward twice.
double flops_of(const FoundRun& run, double tokens) { return 3.0 * tokens * static_cast<double>(run.flops_per_token); }

}  // namespace

stats::MetricKind Metric::kind() const {
  return is_time() ? stats::MetricKind::time_to_target : higher_is_better ? stats::MetricKind::maximised : stats::MetricKind::minimised;
}

Metric pick_metric(const std::string& asked, const std::vector<FoundRun>& runs) {
  const auto any = [&](const auto& holds) { return std::any_of(runs.begin(), runs.end(), holds); };
  const bool any_target = any([](const FoundRun& run) { return run.keys.count("train.target.metric") > 0; });
  const bool of_classes = std::all_of(runs.begin(), runs.end(), is_table_of_classes);
  const std::string name = !asked.empty() ? asked : any_target ? "steps_to_target" : of_classes ? "val/accuracy" : usual_metric(runs);
  const Metric metric = find_metric(name, any([&](const FoundRun& run) { return is_of_program(run, name); }));
  if (metric.is_time()) {
    if (!any_target)
      throw UsageError("no run has a target, so there is no " + metric.name, "set train.target, or compare --metric val/loss");
    return metric;
  }
  const bool any_done = any([](const FoundRun& run) { return run.state == RunState::done; });
  const bool measured = any([&](const FoundRun& run) { return run.summary && find_logged(*run.summary, metric.name); });
  if (any_done && !measured) throw UsageError("no run has logged " + metric.name, "`ffn-train curves` shows which metrics there are");
  return metric;
}

bool stops_at_hit(const FoundRun& run) { return value_of(run, "train.target.stop") == "true"; }

bool is_unmeasured(const FoundRun& run, const Metric& metric) {
  return metric.measure == Measure::logged && run.state == RunState::done && run.summary && !find_logged(*run.summary, metric.name);
}

stats::Outcome outcome_of(const FoundRun& run, const Metric& metric) {
  if (!run.summary || run.summary->end != RunEnd::done) return std::nullopt;
  return logged_value(*run.summary, metric.name);
}

std::optional<double> logged_value(const RunSummary& summary, const std::string& metric) {
  const auto* found = find_logged(summary, metric);
  if (!found) return std::nullopt;
  if (found->name != metric) return found->best ? std::optional(found->best->value) : std::nullopt;
  return std::isfinite(found->final_value) ? std::optional(found->final_value) : std::nullopt;
}

std::vector<stats::Outcome> outcomes_of(const std::vector<FoundRun>& runs, const Metric& metric) {
  std::vector<stats::Outcome> outcomes;
  for (const auto& run : runs) {
    if (is_over(run) && !is_unmeasured(run, metric)) outcomes.push_back(outcome_of(run, metric));
  }
  return outcomes;
}

stats::Hit hit_of(const FoundRun& run, Measure measure) {
  const auto budget_steps = static_cast<double>(std::max<std::int64_t>(1, run.budget_steps));
  const bool hit = run.summary && run.summary->hit;  // whatever became of the run after it
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

std::optional<double> lost_at(const FoundRun& run, Measure measure) {
  if (run.state != RunState::diverged && run.state != RunState::failed) return std::nullopt;
  if (!run.summary) return 0;
  const auto& summary = *run.summary;
  const auto step = static_cast<double>(summary.divergence ? summary.divergence->step : summary.steps);
  if (measure == Measure::flops) return flops_of(run, step * static_cast<double>(run.tokens_per_step));
  return measure == Measure::seconds ? summary.train_seconds : step;
}

}  // namespace ffn
