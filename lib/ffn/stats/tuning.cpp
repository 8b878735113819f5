#include "ffn/stats/tuning.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::stats {
namespace {

bool has_logarithms(const std::vector<std::vector<Outcome>>& outcomes, Direction direction) {
  bool positive = direction != Direction::higher_is_better;
  for (const auto& point : outcomes)
    for (const auto& run : point) positive = positive && (!has_value(run) || *run > 0.0);
  return positive;
}

// As they are judged.
std::vector<std::vector<Outcome>> on_judged_scale(std::vector<std::vector<Outcome>> outcomes, bool logarithms) {
  for (auto& point : outcomes) {
    for (auto& run : point) {
      if (!has_value(run)) run.reset();
      else if (logarithms) run = std::log(*run);
    }
  }
  return outcomes;
}

double standard_error(const std::vector<double>& values) { return standard_deviation(values) / std::sqrt(static_cast<double>(values.size())); }

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
  if (worse_by.size() < 2) return false;
  return mean(worse_by) <= standard_error(worse_by);
}

}  // namespace

PointChoice choose_point(const std::vector<std::vector<Outcome>>& outcomes, Direction direction, bool line) {
  if (outcomes.empty() || outcomes[0].empty()) detail::fail("a choice needs at least one point and one seed");
  for (const auto& point : outcomes)
    if (point.size() != outcomes[0].size()) detail::fail("every point needs the same seeds");
  const bool logarithms = has_logarithms(outcomes, direction);
  const double sign = direction == Direction::higher_is_better ? -1 : 1;
  const auto judged = on_judged_scale(outcomes, logarithms);
  PointChoice choice{0, {}, logarithms};
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
  return choice;
}

}  // namespace ffn::stats
