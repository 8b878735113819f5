#include "ffn/compare/contrasts.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/base/error.hpp"
#include "ffn/base/json_document.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/stats/paired.hpp"

namespace ffn {

namespace {

using RunOfSeed = std::map<std::int64_t, const FoundRun*>;

/// The two sides of a cell.
struct Sides {
  RunOfSeed value, reference;
};

std::vector<std::int64_t> seeds_in_all(const std::vector<Sides>& sides) {
  std::vector<std::int64_t> out;
  for (const auto& [seed, run] : sides[0].value) {
    const auto has = [seed = seed](const Sides& s) { return s.value.count(seed) > 0 && s.reference.count(seed) > 0; };
    if (std::all_of(sides.begin(), sides.end(), has)) out.push_back(seed);
  }
  return out;
}

/// The step at which times of a contrast are cut.
struct Horizon {
  double at = INFINITY;
  bool cuts_any = false;
};

Horizon cut_of(const std::vector<Sides>& sides, Measure measure) {
  std::vector<stats::Hit> hits;
  for (const auto& cell : sides) {
    for (const auto* side : {&cell.value, &cell.reference}) {
      for (const auto& [seed, run] : *side) hits.push_back(hit_of(*run, measure));
    }
  }
  Horizon out;
  for (const auto& hit : hits) out.at = std::min(out.at, hit.budget);
  out.cuts_any = std::any_of(hits.begin(), hits.end(), [&](const stats::Hit& hit) { return !hit.reached() || *hit.time > out.at; });
  return out;
}

// A logarithm where ratios are compared, as they always are of times: one that shrinks with all others is no interaction. NaN for a run
// without a value.
double number_of(const FoundRun& run, const Metric& metric, bool as_ratios, double horizon) {
  const auto outcome =
      metric.is_time() ? stats::Outcome(std::min(hit_of(run, metric.measure).time.value_or(horizon), horizon)) : outcome_of(run, metric);
  return !outcome ? NAN : as_ratios ? std::log(*outcome) : *outcome;
}

// Per seed: the mean over the cells of value − reference, or that of the last less that of the first.
std::vector<double> per_seed(const AskedContrast& asked, const std::vector<Sides>& sides, const Metric& metric, bool as_ratios,
                             double horizon) {
  std::vector<double> out;
  for (const auto seed : seeds_in_all(sides)) {
    std::vector<double> differences;
    for (const auto& cell : sides)
      differences.push_back(number_of(*cell.value.at(seed), metric, as_ratios, horizon) -
                            number_of(*cell.reference.at(seed), metric, as_ratios, horizon));
    double sum = 0;
    for (const double d : differences) sum += d;
    out.push_back(asked.is_main_effect ? sum / static_cast<double>(differences.size()) : differences.back() - differences.front());
  }
  return out;
}

}  // namespace

std::vector<AskedContrast> asked_contrasts(const std::vector<Cell>& cells, const std::vector<std::string>& facet_by,
                                           const std::vector<std::string>& values) {
  if (facet_by.size() != 1)
    throw UsageError(facet_by.empty()
                         ? std::string("compare.interaction needs a second key that varies, and there is none")
                         : "compare.interaction is of one key besides the compared one, and here vary " + join(facet_by, " and "),
                     facet_by.empty() ? "sweep another key, or set compare.interaction=false"
                                      : "give all but one of them a single value, or set compare.interaction=false");
  std::vector<AskedContrast> out;
  for (std::size_t v = 1; v < values.size(); ++v) {
    std::vector<std::size_t> with_both;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].runs.count(values[v]) && cells[i].runs.count(values[0])) with_both.push_back(i);
    }
    if (with_both.size() < 2) continue;
    out.push_back({values[v], true, with_both});
    for (std::size_t i = 1; i < with_both.size(); ++i) out.push_back({values[v], false, {with_both[0], with_both[i]}});
  }
  return out;
}

void add_contrasts(const std::vector<AskedContrast>& asked, const std::vector<Cell>& cells, const Metric& metric, const PairScale& scale,
                   const stats::CompareOptions& options, Comparison& out) {
  if (asked.empty()) return;
  out.interaction_key = cells[0].keys.begin()->first;
  const auto direction = metric.higher_is_better ? stats::Direction::higher_is_better : stats::Direction::lower_is_better;
  const bool as_ratios = metric.is_time() || scale.as_ratios();
  auto contrast_options = options;
  if (metric.is_time()) contrast_options.min_effect = 0;  // it is in steps
  std::vector<std::string> untested;
  double least_horizon = INFINITY;
  for (const auto& contrast : asked) {
    std::vector<Sides> sides;
    for (const auto i : contrast.cells)
      sides.push_back({by_seed(cells[i].runs.at(contrast.value), metric), by_seed(cells[i].runs.at(out.reference), metric)});
    const Horizon horizon = metric.is_time() ? cut_of(sides, metric.measure) : Horizon();
    const auto values = per_seed(contrast, sides, metric, as_ratios, horizon.at);
    if (values.empty()) continue;
    ContrastResult result;
    if (!contrast.is_main_effect) {
      result.at = cells[contrast.cells.back()].keys.begin()->second;
      result.against = cells[contrast.cells.front()].keys.begin()->second;
    }
    const bool complete = std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
    if (!complete) {
      untested.push_back(contrast.value + (contrast.is_main_effect ? ", main effect" : " at " + result.at));
      continue;
    }
    if (horizon.cuts_any) least_horizon = std::min(least_horizon, horizon.at);
    result.pair.value = contrast.value;
    result.pair.reference = out.reference;
    result.pair.paired = stats::compare_contrast(
        values, direction, as_ratios ? stats::PairedValues::log_ratio : stats::PairedValues::difference, contrast_options);
    out.contrasts.push_back(std::move(result));
  }
  if (!untested.empty()) add_note(note::kContrastValues, {metric.is_time() ? " above 0" : "", join(untested, "; ")}, out);
  if (std::isfinite(least_horizon))
    add_note(note::kContrastTimes, {number_text(least_horizon), metric.measure == Measure::flops ? "FLOPs" : "steps"}, out);
}

}  // namespace ffn
