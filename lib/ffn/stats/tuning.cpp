#include "ffn/stats/tuning.hpp"

#include <algorithm>
#include <cmath>

#include "ffn/stats/check.hpp"
#include "ffn/stats/summary.hpp"

namespace ffn::stats {
namespace {

// As they are judged: lower is better.
std::vector<std::vector<Outcome>> on_judged_scale(std::vector<std::vector<Outcome>> outcomes, Direction direction) {
  bool positive = true;
  for (const auto& point : outcomes)
    for (const auto& run : point) positive = positive && (!has_value(run) || *run > 0.0);
  for (auto& point : outcomes) {
    for (auto& run : point) {
      if (!has_value(run)) run.reset();
      else run = direction == Direction::higher_is_better ? -*run : positive ? std::log(*run) : *run;
    }
  }
  return outcomes;
}

PointScore score_of(const std::vector<Outcome>& runs) {
  PointScore score;
  std::vector<double> values;
  for (const auto& run : runs) {
    if (has_value(run)) values.push_back(*run);
  }
  score.bad = runs.size() - values.size();
  if (!values.empty()) score.mean = mean(values);
  return score;
}

bool is_better(const PointScore& a, const PointScore& b) {
  if (a.bad != b.bad) return a.bad < b.bad;
  return a.mean && b.mean && *a.mean < *b.mean;
}

bool is_as_good(const std::vector<Outcome>& point, const std::vector<Outcome>& best) {
  std::vector<double> worse_by;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (has_value(point[i]) != has_value(best[i])) return false;
    if (has_value(point[i])) worse_by.push_back(*point[i] - *best[i]);
  }
  if (worse_by.size() < 2) return false;
  return mean(worse_by) <= standard_deviation(worse_by) / std::sqrt(static_cast<double>(worse_by.size()));
}

}  // namespace

PointChoice choose_point(const std::vector<std::vector<Outcome>>& outcomes, Direction direction, bool line) {
  if (outcomes.empty() || outcomes[0].empty()) detail::fail("a choice needs at least one point and one seed");
  for (const auto& point : outcomes)
    if (point.size() != outcomes[0].size()) detail::fail("every point needs the same seeds");
  const auto judged = on_judged_scale(outcomes, direction);
  PointChoice choice{0, {}};
  std::vector<PointScore> scores;
  for (std::size_t i = 0; i < judged.size(); ++i) {
    scores.push_back(score_of(judged[i]));
    choice.scores.push_back(score_of(outcomes[i]));
    if (is_better(scores[i], scores[choice.index])) choice.index = i;
  }
  if (!line) return choice;
  std::size_t low = choice.index, high = choice.index;
  const auto& best = judged[choice.index];
  while (low > 0 && is_as_good(judged[low - 1], best)) --low;
  while (high + 1 < judged.size() && is_as_good(judged[high + 1], best)) ++high;
  choice.index = low + (high - low) / 2;
  return choice;
}

}  // namespace ffn::stats
