#include "ffn/stats/tuning.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::stats {
namespace {

/// Among `sorted`, ties in the middle of theirs.
double midrank(const std::vector<double>& sorted, double value) {
  const auto [first, past] = std::equal_range(sorted.begin(), sorted.end(), value);
  return static_cast<double>((first - sorted.begin()) + (past - sorted.begin()) + 1) / 2.0;
}

PointOutcomes on_scale(PointOutcomes outcomes, PointScale scale) {
  std::vector<double> all;
  for (auto& point : outcomes) {
    for (auto& run : point) {
      if (!has_value(run)) run.reset();
      else if (scale == PointScale::ranks) all.push_back(*run);
      else if (scale == PointScale::logarithms && !(*run > 0.0)) detail::fail("a logarithm of ", *run);
    }
  }
  std::sort(all.begin(), all.end());
  for (auto& point : outcomes) {
    for (auto& run : point) {
      if (run && scale != PointScale::values) run = scale == PointScale::logarithms ? std::log(*run) : midrank(all, *run);
    }
  }
  return outcomes;
}

double standard_error(const std::vector<double>& values) {
  return standard_deviation(values) / std::sqrt(static_cast<double>(values.size()));
}

std::vector<double> values_of(const std::vector<Outcome>& runs) {
  std::vector<double> values;
  for (const auto& run : runs) {
    if (has_value(run)) values.push_back(*run);
  }
  return values;
}

PointScore score_of(const std::vector<Outcome>& runs, const std::vector<Outcome>& judged_runs) {
  PointScore score;
  const auto values = values_of(runs), judged = values_of(judged_runs);
  score.bad = runs.size() - values.size();
  if (!values.empty()) {
    score.mean = mean(values);
    score.judged = mean(judged);
  }
  if (values.size() > 1) score.standard_error = standard_error(judged);
  return score;
}

bool is_better(const PointScore& a, const PointScore& b, double sign) {
  if (a.bad != b.bad) return a.bad < b.bad;
  return a.judged && b.judged && sign * *a.judged < sign * *b.judged;
}

bool is_as_good(const std::vector<Outcome>& point, const std::vector<Outcome>& best, double sign) {
  std::vector<double> worse_by;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (has_value(point[i]) != has_value(best[i])) return false;
    if (has_value(point[i])) worse_by.push_back(sign * (*point[i] - *best[i]));
  }
  if (worse_by.empty()) return false;
  return mean(worse_by) <= (worse_by.size() > 1 ? standard_error(worse_by) : 0.0);
}

}  // namespace

PointScale point_scale(const std::vector<PointOutcomes>& variants, Direction direction) {
  if (direction == Direction::higher_is_better) return PointScale::values;
  for (const auto& outcomes : variants)
    for (const auto& point : outcomes)
      for (const auto& run : point)
        if (has_value(run) && !(*run > 0.0)) return PointScale::ranks;
  return PointScale::logarithms;
}

PointChoice choose_point(const PointOutcomes& outcomes, Direction direction, bool line, PointScale scale) {
  if (outcomes.empty() || outcomes[0].empty()) detail::fail("a choice needs at least one point and one seed");
  for (const auto& point : outcomes)
    if (point.size() != outcomes[0].size()) detail::fail("every point needs the same seeds");
  const double sign = direction == Direction::higher_is_better ? -1 : 1;
  const auto judged = on_scale(outcomes, scale);
  PointChoice choice{0, {}};
  for (std::size_t i = 0; i < judged.size(); ++i) {
    choice.scores.push_back(score_of(outcomes[i], judged[i]));
    if (is_better(choice.scores[i], choice.scores[choice.index], sign)) choice.index = i;
  }
  if (!line) return choice;
  std::size_t low = choice.index, high = choice.index;
  const auto& best = judged[choice.index];
  while (low > 0 && is_as_good(judged[low - 1], best, sign)) --low;
  while (high + 1 < judged.size() && is_as_good(judged[high + 1], best, sign)) ++high;
  choice.index = low + (high - low) / 2;
  const std::size_t other = high - (high - low) / 2;  // the same, unless two are in the middle
  if (is_better(choice.scores[other], choice.scores[choice.index], sign)) choice.index = other;
  return choice;
}

std::vector<double> sensitivity(const PointOutcomes& outcomes, const PointOutcomes& before, Direction direction) {
  const double sign = direction == Direction::higher_is_better ? -1 : 1;
  std::vector<double> out;
  for (std::size_t seed = 0; seed < outcomes.at(0).size(); ++seed) {
    std::vector<double> losses;
    for (std::size_t point = 0; point < outcomes.size(); ++point) {
      if (!has_value(before[point][seed])) return {};
      const double start = sign * *before[point][seed];
      losses.push_back(has_value(outcomes[point][seed]) ? std::min(sign * *outcomes[point][seed], start) : start);
    }
    out.push_back(mean(losses) - *std::min_element(losses.begin(), losses.end()));
  }
  return out;
}

}  // namespace ffn::stats
