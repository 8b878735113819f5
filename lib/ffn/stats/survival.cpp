// Time to a target with right-censoring.
#include "ffn/stats/survival.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/distributions.hpp"

namespace ffn::stats {
namespace {

// S is a product of fractions: one that equals 1/2 on paper may come out a few ulps above it.
constexpr double kHalf = 0.5 * (1.0 + 1e-12);

struct Observation {
  double time;
  bool hit;
};

std::vector<Observation> observations_in_time_order(const std::vector<Hit>& runs) {
  if (runs.empty()) detail::fail("Kaplan-Meier needs at least 1 run, got 0");
  std::vector<Observation> observed;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Hit& run = runs[i];
    if (!(run.budget > 0.0 && std::isfinite(run.budget)))
      detail::fail("run ", i, ": budget (", run.budget, ") must be positive and finite");
    if (run.reached() && !(*run.time >= 0.0 && *run.time <= run.budget))
      detail::fail("run ", i, ": hit time (", *run.time, ") must lie in [0, budget (", run.budget, ")]");
    observed.push_back({run.reached() ? *run.time : run.budget, run.reached()});
  }
  std::sort(observed.begin(), observed.end(), [](auto a, auto b) { return a.time < b.time; });
  return observed;
}

}  // namespace

bool Hit::reached() const { return time.has_value() && std::isfinite(*time); }

SurvivalCurve kaplan_meier(const std::vector<Hit>& runs) {
  const std::vector<Observation> observed = observations_in_time_order(runs);
  SurvivalCurve curve{{}, observed.back().time};
  double unreached = 1.0;
  for (std::size_t first = 0, past = 0; first < observed.size(); first = past) {
    std::size_t hits = 0;
    for (past = first; past < observed.size() && observed[past].time == observed[first].time; ++past)
      if (observed[past].hit) ++hits;
    if (hits == 0) continue;
    const std::size_t at_risk = observed.size() - first;
    unreached *= static_cast<double>(at_risk - hits) / static_cast<double>(at_risk);
    curve.steps.push_back({observed[first].time, at_risk, hits, unreached});
  }
  return curve;
}

std::vector<std::optional<Interval>> unreached_intervals(const SurvivalCurve& curve, double level) {
  detail::check_between("level", level, 0.0, 1.0);
  const double z = detail::normal_quantile((1.0 + level) / 2.0);
  std::vector<std::optional<Interval>> out;
  double greenwood = 0.0;  // Σ h / (Y (Y − h)): the variance of log S
  for (const SurvivalStep& step : curve.steps) {
    if (step.hits >= step.at_risk) {
      out.emplace_back();
      continue;
    }
    const auto at_risk = static_cast<double>(step.at_risk), hits = static_cast<double>(step.hits);
    greenwood += hits / (at_risk * (at_risk - hits));
    const double spread = z * std::sqrt(greenwood) / std::log(step.unreached);  // negative
    out.push_back(Interval{std::pow(step.unreached, std::exp(-spread)), std::pow(step.unreached, std::exp(spread)), level});
  }
  return out;
}

std::optional<double> median_time(const SurvivalCurve& curve) {
  for (const SurvivalStep& step : curve.steps)
    if (step.unreached <= kHalf) return step.time;
  return std::nullopt;
}

RestrictedMean restricted_mean(const SurvivalCurve& curve, double horizon) {
  const bool all_hit = !curve.steps.empty() && curve.steps.back().unreached == 0.0;
  if (!(horizon > 0.0 && std::isfinite(horizon))) detail::fail("horizon (", horizon, ") must be positive and finite");
  if (horizon > curve.follow_up && !all_hit)
    detail::fail("horizon (", horizon, ") exceeds the follow-up (", curve.follow_up, ") of runs that did not hit");

  // From the horizon backwards, so that `area` is the area to the right of the step at hand.
  double area = 0.0, right = horizon, variance = 0.0;
  for (auto step = curve.steps.rbegin(); step != curve.steps.rend(); ++step) {
    if (step->time >= horizon) continue;
    area += step->unreached * (right - step->time);
    right = step->time;
    const auto at_risk = static_cast<double>(step->at_risk), hits = static_cast<double>(step->hits);
    if (step->hits < step->at_risk) variance += area * area * hits / (at_risk * (at_risk - hits));
  }
  return {area + right, std::sqrt(variance), horizon};
}

Interval restricted_mean_interval(const RestrictedMean& mean, std::size_t num_runs, double level) {
  if (num_runs == 0) detail::fail("restricted mean of 0 runs");
  detail::check_between("level", level, 0.0, 1.0);
  if (num_runs == 1) return unbounded_interval(level);
  const auto n = static_cast<double>(num_runs);
  const double t = detail::critical_t(n - 1.0, (1.0 - level) / 2.0);
  const double half_width = t * std::sqrt(n / (n - 1.0)) * mean.standard_error;
  return {mean.mean - half_width, mean.mean + half_width, level};
}

}  // namespace ffn::stats
