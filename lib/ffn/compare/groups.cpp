#include "ffn/compare/groups.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/compare/each.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn {

namespace {

GroupRun group_run(const FoundRun& run, const Metric& metric) {
  GroupRun out{run.path, run.seed, run.state, std::nullopt, std::nullopt, {}};
  if (run.summary) out.files = run.summary->files;
  if (!is_over(run)) return out;
  if (run.keys.count("train.target.metric") > 0) {
    const auto measure = metric.is_time() ? metric.measure : Measure::steps;
    out.to_target = hit_of(run, measure);
    if (!out.to_target->reached()) out.lost_at = lost_at(run, measure);
  }
  out.value = !metric.is_time() ? outcome_of(run, metric) : out.to_target && out.to_target->reached() ? out.to_target->time : std::nullopt;
  return out;
}

// Runs that are all at their target before the first step have no time that the curve covers.
double horizon_of(const stats::SurvivalCurve& curve) { return curve.follow_up > 0 ? curve.follow_up : 1; }

// Runs of a group that are over and have no value though they log the metric: they count as the worst.
std::size_t lost_runs(const GroupResult& group) {
  const std::size_t over = group.num_over();
  return group.num_unmeasured == 0 && over > group.values.size() ? over - group.values.size() : 0;
}

bool has_misses(const GroupResult& group) {
  return std::any_of(group.values.begin(), group.values.end(), [](double x) { return std::isinf(x); });
}

}  // namespace

GroupResult summarise(const std::string& value, const std::vector<const FoundRun*>& runs, const Metric& metric, double alpha) {
  GroupResult group;
  group.value = value;
  std::vector<stats::Hit> hits, over;
  double seconds_to_target = 0;
  std::size_t with_summary = 0;
  for (const auto* run : runs) {
    group.runs.push_back(group_run(*run, metric));
    ++group.num_runs;
    group.num_done += run->state == RunState::done;
    group.num_diverged += run->state == RunState::diverged;
    group.num_failed += run->state == RunState::failed;
    group.num_pending += !is_over(*run);
    group.num_unmeasured += is_unmeasured(*run, metric);
    group.has_target = group.has_target || run->keys.count("train.target.metric") > 0;
    if (!is_over(*run)) continue;
    const auto steps = hit_of(*run, Measure::steps);
    over.push_back(steps);
    if (steps.reached()) {
      ++group.num_hits;
      seconds_to_target += run->summary->hit->time_s;
    }
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
    const auto restricted = stats::restricted_mean(curve, horizon_of(curve));
    group.mean = restricted.mean;
    const double low = stats::restricted_mean_interval(restricted, hits.size(), 1 - alpha).low;
    if (std::isfinite(low) && !has_misses(group)) group.half_width = restricted.mean - low;
  } else if (!group.values.empty()) {
    group.mean = stats::mean(group.values);
    if (group.values.size() > 1) group.half_width = *group.mean - stats::t_interval(group.values, 1 - alpha).low;
  }
  if (group.has_target && !over.empty()) {
    const auto curve = stats::kaplan_meier(over);
    group.median_steps = stats::median_time(curve);
    group.restricted_mean_steps = stats::restricted_mean(curve, horizon_of(curve)).mean;
  }
  return group;
}

void show_medians_of_hits(Comparison& out) {
  if (!any_group(out, has_misses)) return;
  out.shown = ShownCentre::median;
  for (auto& facet : out.facets) {
    for (auto& group : facet.groups) {
      std::vector<double> hits;
      std::copy_if(group.values.begin(), group.values.end(), std::back_inserter(hits), [](double x) { return std::isfinite(x); });
      if (!hits.empty()) group.centre = stats::median_with_interval(hits, 1 - out.alpha);
    }
  }
}

void choose_shown(Comparison& out) {
  const bool by_ranks = any_pair(out, [](const PairResult& pair) { return stats::is_of_ranks(pair.paired.test); }) ||
                        any_group(out, [](const GroupResult& group) { return lost_runs(group) > 0; });
  out.shown = by_ranks ? ShownCentre::median : out.as_ratios ? ShownCentre::geometric_mean : ShownCentre::mean;
  const double level = 1 - out.alpha, worst = out.higher_is_better ? -INFINITY : INFINITY;
  for (auto& facet : out.facets) {
    for (auto& group : facet.groups) {
      auto all = group.values;
      all.resize(all.size() + lost_runs(group), worst);
      if (all.empty()) continue;
      group.iqm = stats::interquartile_mean(all);
      if (lost_runs(group) > 0) group.mean = group.half_width = std::nullopt;  // it would be of the survivors
      const auto median = stats::median_with_interval(all, level);
      group.median = median.value;
      if (out.shown == ShownCentre::median) group.centre = median;
      if (out.shown == ShownCentre::geometric_mean && !group.values.empty()) group.centre = stats::geometric_mean(group.values, level);
    }
  }
}

}  // namespace ffn
