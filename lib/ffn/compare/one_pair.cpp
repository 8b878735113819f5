#include "ffn/compare/one_pair.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/compare/outcomes.hpp"
#include "ffn/compare/pooled.hpp"
#include "ffn/stats/unpaired.hpp"

namespace ffn {

namespace {

using RunsBySeed = std::map<std::int64_t, const FoundRun*>;

// Cuts both sides to the seeds of the last interim analysis: before the first one that is not finished, or failed, on either side.
// Returns how many finished ones wait for the next.
std::size_t cut_to_analysis(std::int64_t first, RunsBySeed& a, RunsBySeed& b, const SequentialRequest& request) {
  const auto finished = [](const RunsBySeed& runs, std::int64_t seed) {
    const auto run = runs.find(seed);
    return run != runs.end() && (run->second->state != RunState::failed || run->second->summary);
  };
  std::int64_t past = first;
  while (finished(a, past) && finished(b, past)) ++past;
  past = first + static_cast<std::int64_t>(seeds_analysed(request, static_cast<std::size_t>(past - first)));
  std::size_t waiting = 0;
  for (const auto& [seed, run] : a) waiting += seed >= past && finished(a, seed) && finished(b, seed);
  for (auto* side : {&a, &b}) side->erase(side->lower_bound(past), side->end());
  return waiting;
}

std::int64_t first_seed(const RunGroup& runs) {
  const auto first = std::min_element(runs.begin(), runs.end(), [](const FoundRun* a, const FoundRun* b) { return a->seed < b->seed; });
  return (*first)->seed;
}

}  // namespace

std::optional<PairResult> compare_pair(const RunGroup& runs, const RunGroup& reference, const Metric& metric, const PairScale& scale,
                                       const stats::CompareOptions& options, const std::optional<SequentialRequest>& sequential) {
  auto a = by_seed(runs, metric), b = by_seed(reference, metric);
  PairResult result;
  if (sequential) result.waiting_seeds = cut_to_analysis(std::min(first_seed(runs), first_seed(reference)), a, b, *sequential);
  std::vector<stats::Outcome> values, reference_values;
  std::vector<stats::Hit> hits, reference_hits;
  std::vector<const FoundRun*> paired_runs, paired_references;
  for (const auto& [seed, run] : a) {
    const auto other = b.find(seed);
    if (other == b.end()) continue;
    paired_runs.push_back(run);
    paired_references.push_back(other->second);
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
  result.unpaired_seeds = a.size() + b.size() - 2 * paired;
  const auto direction = metric.higher_is_better ? stats::Direction::higher_is_better : stats::Direction::lower_is_better;
  result.paired = metric.is_time()
                      ? stats::compare_hits(hits, reference_hits, options).paired
                      : stats::compare_paired(values, reference_values, direction, scale.of_pair(values, reference_values), options);
  result.crossed = crossed_effect(paired_runs, paired_references, 1 - options.alpha);
  if (metric.kind() == stats::MetricKind::minimised) result.bad = stats::bad_runs(values, reference_values);
  if (!sequential) return result;
  double horizon = INFINITY;
  for (const auto* side : {&hits, &reference_hits})
    for (const auto& hit : *side) horizon = std::min(horizon, hit.budget);
  const auto by_then = [&](const stats::Hit& hit) {
    return hit.reached() && *hit.time <= horizon ? stats::Outcome(*hit.time) : std::nullopt;
  };
  for (const auto& hit : hits) values.push_back(by_then(hit));
  for (const auto& hit : reference_hits) reference_values.push_back(by_then(hit));
  result.advantages = scale.advantages(values, reference_values);
  return result;
}

PairResult compare_apart(const RunGroup& runs, const RunGroup& reference, const Metric& metric, const PairScale& scale,
                         const CompareRequest& request, const stats::CompareOptions& options) {
  std::vector<stats::Outcome> values, reference_values;
  for (const auto* run : runs) values.push_back(outcome_of(*run, metric));
  for (const auto* run : reference) reference_values.push_back(outcome_of(*run, metric));
  PairResult result;
  result.paired = stats::compare_unpaired(
      values, reference_values, metric.higher_is_better ? stats::Direction::higher_is_better : stats::Direction::lower_is_better,
      scale.as_ratios() ? stats::PairedValues::log_ratio : stats::PairedValues::difference, request.config.scale == "ranks", options);
  return result;
}
}  // namespace ffn
