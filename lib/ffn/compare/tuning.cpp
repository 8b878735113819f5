#include "ffn/compare/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/config/metrics.hpp"
#include "ffn/record/run_directory.hpp"
#include "ffn/stats/tuning.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

stats::Outcome outcome_of_run(const fs::path& run, const std::string& metric) {
  const auto summary = read_summary(run);
  if (!summary) return std::nullopt;
  if (metric == "steps_to_target") return summary->hit ? stats::Outcome(static_cast<double>(summary->hit->step)) : std::nullopt;
  if (summary->end != RunEnd::done) return std::nullopt;
  const auto* found = summary->find(metric);
  return found && std::isfinite(found->final_value) ? stats::Outcome(found->final_value) : std::nullopt;
}

bool is_line(const TuningAxis& axis) {
  double last = -INFINITY;
  for (const auto& value : axis.values) {
    if (!value->is_number() || !(value->get<double>() > last)) return false;
    last = value->get<double>();
  }
  return axis.values.size() > 1;
}

// One variant's outcomes, [point][tuning seed].
using Outcomes = std::vector<std::vector<stats::Outcome>>;

Outcomes part_of(const Outcomes& all, std::size_t first, std::size_t count) {
  Outcomes out;
  for (const auto& point : all) {
    const auto begin = point.begin() + static_cast<std::ptrdiff_t>(first);
    out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, point.size() - first)));
  }
  return out;
}

class Chooser {
 public:
  explicit Chooser(const Study& study) : tune_(*study.tune), line_(tune_.axes.size() == 1 && is_line(tune_.axes[0])) {
    const MetricRow* row = find_metric_row(tune_.metric);
    direction_ = row && row->higher_is_better ? stats::Direction::higher_is_better : stats::Direction::lower_is_better;
  }

  std::size_t choose(const Outcomes& outcomes) const { return stats::choose_point(outcomes, direction_, line_).index; }

  TunedVariant summary(const std::string& name, const Outcomes& outcomes, const std::vector<std::size_t>& choices) const {
    const auto choice = stats::choose_point(outcomes, direction_, line_);
    const auto& scores = choice.scores;
    TunedVariant out{name, {}, choice.logarithms, {}};
    for (std::size_t p = 0; p < scores.size(); ++p) {
      const auto chosen = static_cast<std::size_t>(std::count(choices.begin(), choices.end(), p));
      out.curve.push_back({tune_.point(p), scores[p].mean, scores[p].judged, scores[p].standard_error, outcomes[p].size() - scores[p].bad, scores[p].bad, chosen});
    }
    for (std::size_t axis = 0; axis < tune_.axes.size(); ++axis) {
      const auto at = [&](GridEnd end) {
        return std::count_if(choices.begin(), choices.end(), [&](std::size_t c) { return end_of(axis, c) == end; });
      };
      if (2 * static_cast<std::size_t>(std::max(at(GridEnd::low), at(GridEnd::high))) >= choices.size())
        out.edge.push_back(tune_.axes[axis].key);
    }
    return out;
  }

  /// The end of an axis of numbers at which a point stands.
  std::optional<GridEnd> end_of(std::size_t axis, std::size_t point) const {
    if (!is_line(tune_.axes[axis])) return std::nullopt;
    std::size_t below = 1;
    for (std::size_t i = axis + 1; i < tune_.axes.size(); ++i) below *= tune_.axes[i].values.size();
    const std::size_t count = tune_.axes[axis].values.size(), at = point / below % count;
    if (at == 0) return GridEnd::low;
    return at + 1 == count ? std::optional<GridEnd>(GridEnd::high) : std::nullopt;
  }

 private:
  const TuningConfig& tune_;
  bool line_;
  stats::Direction direction_;
};

}  // namespace

TuningChoices choose_points(const Study& study, const std::vector<fs::path>& runs) {
  const auto& tune = study.tune.value();
  const std::size_t points = tune.num_points(), per_seed_runs = study.variants.size() * points;
  const Chooser chooser(study);
  TuningChoices out;
  out.result.study = study.name + kTuningSuffix;
  out.result.metric = tune.metric;
  out.result.per_seed = tune.per_seed;
  out.result.seeds = tune.seeds;
  for (const auto& axis : tune.axes) out.result.keys.push_back(axis.key);
  for (std::size_t v = 0; v < study.variants.size(); ++v) {
    Outcomes outcomes(points);
    for (std::size_t first = 0; first < runs.size(); first += per_seed_runs) {
      for (std::size_t p = 0; p < points; ++p) outcomes[p].push_back(outcome_of_run(runs[first + v * points + p], tune.metric));
    }
    std::vector<std::size_t> choices;
    for (std::size_t first = 0; first < outcomes[0].size(); first += tune.seeds) choices.push_back(chooser.choose(part_of(outcomes, first, tune.seeds)));
    // The best over several seeds grows the grid, since that of one stands at an end by chance as well; of the first ones, so that more
    // seeds leave the grid, and with it every choice, as it is. Where the seeds chose an end all the same, it is said.
    constexpr std::size_t kSeedsThatGrow = 5;
    const std::size_t pooled = chooser.choose(tune.per_seed ? part_of(outcomes, 0, kSeedsThatGrow * tune.seeds) : outcomes);
    for (std::size_t axis = 0; axis < tune.axes.size(); ++axis) {
      const auto end = chooser.end_of(axis, pooled);
      if (end && std::find(out.at_ends.begin(), out.at_ends.end(), std::make_pair(axis, *end)) == out.at_ends.end()) out.at_ends.emplace_back(axis, *end);
    }
    out.result.variants.push_back(chooser.summary(study.variants[v].name, outcomes, choices));
    out.of.push_back(std::move(choices));
  }
  return out;
}

}  // namespace ffn
