#include "ffn/compare/pooled.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ffn/base/error.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/compare/run_keys.hpp"

namespace ffn {

namespace {

constexpr std::size_t kFewestValues = 3;  // of two the interval covers 89 to 95 %, measured as in tests/stats/test_crossed.cpp

// The runs of one seed, in the order of the values; null where one is not there.
FoundRun pooled_run(const std::vector<const FoundRun*>& runs, const Metric& metric, bool as_ratios) {
  const auto first = std::find_if(runs.begin(), runs.end(), [](const FoundRun* run) { return run != nullptr; });
  FoundRun out = **first;
  std::size_t measured = 0;
  out.state = RunState::done;
  for (const auto* run : runs) {
    if (!run || !is_over(*run)) out.state = RunState::pending;
    else if (run->state != RunState::done && out.state == RunState::done) out.state = run->state;
    if (!run || !is_over(*run)) continue;
    measured += !is_unmeasured(*run, metric);
    const auto outcome = outcome_of(*run, metric);
    out.parts.push_back(!outcome ? NAN : as_ratios ? std::log(*outcome) : *outcome);
  }
  if (out.state == RunState::pending || !out.summary) return out;
  out.summary->hit.reset();
  out.summary->metrics.clear();
  double sum = 0;
  for (const double part : out.parts) sum += part / static_cast<double>(runs.size());
  if (measured > 0) out.summary->metrics.push_back({metric.name, as_ratios ? std::exp(sum) : sum, std::nullopt});
  return out;
}

std::string signed_text(double x, bool as_ratio) {
  char text[40];
  std::snprintf(text, sizeof text, as_ratio ? "%.2f" : "%.3g", std::abs(x));
  return (x < 0 ? "−" : "+") + std::string(text);
}

}  // namespace

std::vector<FoundRun> pooled_over(const std::vector<FoundRun>& runs, const std::string& over, const std::string& by, const Metric& metric,
                                  bool as_ratios) {
  if (metric.is_time())
    throw UsageError("compare.over needs a logged metric: a time that is not reached has no mean", "set compare.metric=val/loss");
  if (by == over || by == "variant")
    throw UsageError("compare.over is " + over + ", so compare.by must be another key, not " + by, "set compare.by");
  const auto values = ordered_values(runs, over);
  if (values.size() < 2)
    throw UsageError("compare.over is " + over + ", which has one value only (" + values[0] + ")", "sweep it, or leave compare.over empty");
  std::vector<std::string> gone;  // what goes along with it
  for (const auto& key : varying_keys(runs)) {
    if (key != by && determines(runs, over, key)) gone.push_back(key);
  }
  std::map<std::pair<Keys, std::int64_t>, std::vector<const FoundRun*>> cells;
  std::vector<const std::vector<const FoundRun*>*> in_order;
  std::vector<Keys> keys;
  for (const auto& run : runs) {
    Keys own = run.keys;
    for (const auto& key : gone) own.erase(key);
    const auto [cell, is_new] = cells.insert({{own, run.seed}, std::vector<const FoundRun*>(values.size())});
    if (is_new) {
      in_order.push_back(&cell->second);
      keys.push_back(own);
    }
    auto& place = cell->second[static_cast<std::size_t>(std::find(values.begin(), values.end(), value_of(run, over)) - values.begin())];
    if (!place) place = &run;
  }
  std::vector<FoundRun> out;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    out.push_back(pooled_run(*in_order[i], metric, as_ratios));
    out.back().keys = std::move(keys[i]);
    out.back().keys.erase("train.target.metric");  // means have no hits
  }
  return out;
}

std::optional<stats::CrossedMean> crossed_effect(const std::vector<const FoundRun*>& variant, const std::vector<const FoundRun*>& reference,
                                                 double level) {
  if (variant.size() < 2) return std::nullopt;
  std::vector<std::vector<double>> effects(variant[0]->parts.size());
  if (effects.size() < kFewestValues) return std::nullopt;
  for (std::size_t row = 0; row < effects.size(); ++row) {
    for (std::size_t seed = 0; seed < variant.size(); ++seed) {
      effects[row].push_back(variant[seed]->parts.at(row) - reference[seed]->parts.at(row));
      if (!std::isfinite(effects[row].back())) return std::nullopt;
    }
  }
  return stats::crossed_mean(effects, level);
}

void note_crossed(Comparison& c) {
  std::string values;
  for (const auto& facet : c.facets) {
    std::string place;
    for (const auto& [key, value] : facet.keys) place += (place.empty() ? " at " : ", ") + key.substr(key.rfind('.') + 1) + " " + value;
    for (const auto& pair : facet.pairs) {
      values += (values.empty() ? "" : "; ") + pair.value + place + " ";
      if (!pair.crossed) {
        values += "none (fewer than 3 values or 2 seeds, or a run without a value)";
        continue;
      }
      const auto shown = [&](double x) { return signed_text(c.as_ratios ? 100 * std::expm1(x) : x, c.as_ratios); };
      const auto& [rows, seeds, mean, interval] = *pair.crossed;
      values += shown(mean) + (c.as_ratios ? " % [" : " [") + shown(interval.low) + ", " + shown(interval.high) + "], " +
                std::to_string(rows) + " × " + std::to_string(seeds) + " seeds";
    }
  }
  add_note(note::kOver, {c.over}, c);
  if (!values.empty()) add_note(note::kCrossed, {c.reference, values}, c);
}

}  // namespace ffn
