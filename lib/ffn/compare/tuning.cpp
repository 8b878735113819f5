#include "ffn/compare/tuning.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/compare/outcomes.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/stats/tuning.hpp"
#include "ffn/store/run_directory.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

struct TuningRun {
  stats::Outcome outcome, before;
};

// A run that is not there is no bad run: another choice would come of it.
TuningRun outcome_of_run(const fs::path& run, const std::string& metric) {
  const auto record = read_record(run);
  if (!record || !record->summary)
    throw DataError(
        "the tuning run " + run.string() + (record ? " has not ended" : " is not there any more") + "; nothing was chosen without it",
        "the same command trains it");
  const auto& summary = record->summary;
  if (metric == "steps_to_target") return {summary->hit ? stats::Outcome(static_cast<double>(summary->hit->step)) : std::nullopt, {}};
  const auto* logged = summary->find(without_best(metric));
  return {summary->end == RunEnd::done ? logged_value(*summary, metric) : std::nullopt, logged ? logged->first : std::nullopt};
}

bool is_line(const TuningAxis& axis) {
  double last = -INFINITY;
  for (const auto& value : axis.values) {
    if (!value->is_number() || !(value->get<double>() > last)) return false;
    last = value->get<double>();
  }
  return axis.values.size() > 1;
}

using stats::PointOutcomes;
using stats::PointScale;

PointOutcomes part_of(const PointOutcomes& all, std::size_t first, std::size_t count) {
  PointOutcomes out;
  for (const auto& point : all) {
    const auto begin = point.begin() + static_cast<std::ptrdiff_t>(first);
    out.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(std::min(count, point.size() - first)));
  }
  return out;
}

class Chooser {
 public:
  explicit Chooser(const Study& study) : tune_(*study.tune), line_(tune_.axes.size() == 1 && is_line(tune_.axes[0])) {
    direction_ = metric_direction(tune_.metric).value_or(false) ? stats::Direction::higher_is_better : stats::Direction::lower_is_better;
    const auto& compare = study.config.compare;
    if (tune_.metric != judged_metric(study)) return;
    if (compare.scale == "difference") asked_ = PointScale::values;
    if (compare.scale == "ranks") asked_ = PointScale::ranks;
  }

  /// One scale for all variants, the judged one where what is judged is tuned.
  PointScale scale(const std::vector<PointOutcomes>& variants) const { return asked_.value_or(stats::point_scale(variants, direction_)); }

  /// A choice for each variant.
  std::vector<std::size_t> choose(const std::vector<PointOutcomes>& variants) const {
    std::vector<std::size_t> out;
    for (const auto& outcomes : variants) out.push_back(stats::choose_point(outcomes, direction_, line_, scale(variants)).index);
    return out;
  }

  TunedVariant summary(const std::string& name, const PointOutcomes& outcomes, const PointOutcomes& before, PointScale scale,
                       const std::vector<std::size_t>& choices) const {
    const auto scores = stats::choose_point(outcomes, direction_, line_, scale).scores;
    TunedVariant out{name, {}, scale == PointScale::logarithms, {}};
    for (std::size_t p = 0; p < scores.size(); ++p) {
      const auto chosen = static_cast<std::size_t>(std::count(choices.begin(), choices.end(), p));
      // Ranks are on no axis.
      const auto shown = [&](const std::optional<double>& x) { return scale == PointScale::ranks ? std::nullopt : x; };
      out.curve.push_back({tune_.point(p), scores[p].mean, shown(scores[p].judged), shown(scores[p].standard_error),
                           outcomes[p].size() - scores[p].bad, scores[p].bad, chosen});
    }
    for (std::size_t axis = 0; axis < tune_.axes.size(); ++axis) {
      const auto at = [&](GridEnd end) {
        return std::count_if(choices.begin(), choices.end(), [&](std::size_t c) { return end_of(axis, c) == end; });
      };
      if (2 * static_cast<std::size_t>(std::max(at(GridEnd::low), at(GridEnd::high))) >= choices.size())
        out.edge.push_back(tune_.axes[axis].key);
    }
    if (line_) out.sensitivity = stats::sensitivity(outcomes, before, direction_);
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
  std::optional<PointScale> asked_;
};

}  // namespace

TuningChoices choose_points(const Study& study, const std::vector<fs::path>& runs) {
  const auto& tune = study.tune.value();
  const std::size_t points = tune.num_points(), stride = tuning_stride(study), num_tuned = study.variants.size() / stride,
                    per_seed_runs = num_tuned * points;
  const Chooser chooser(study);
  TuningChoices out;
  out.result.study = kTuningDirectory;
  out.result.metric = tune.metric;
  out.result.per_seed = tune.per_seed;
  out.result.seeds = tune.seeds;
  for (const auto& axis : tune.axes) out.result.keys.push_back(axis.key);
  std::vector<PointOutcomes> all(num_tuned, PointOutcomes(points)), before = all;
  for (std::size_t v = 0; v < all.size(); ++v) {
    for (std::size_t first = 0; first < runs.size(); first += per_seed_runs) {
      for (std::size_t p = 0; p < points; ++p) {
        const auto run = outcome_of_run(runs[first + v * points + p], tune.metric);
        all[v][p].push_back(run.outcome);
        before[v][p].push_back(run.before);
      }
    }
  }
  const auto choose = [&](std::size_t first, std::size_t count) {
    std::vector<PointOutcomes> part;
    for (const auto& outcomes : all) part.push_back(part_of(outcomes, first, count));
    return chooser.choose(part);
  };
  const std::size_t num_seeds = runs.size() / per_seed_runs;
  out.of.resize(all.size());
  for (std::size_t first = 0; first < num_seeds; first += tune.seeds) {
    const auto chosen = choose(first, tune.seeds);
    for (std::size_t v = 0; v < all.size(); ++v) out.of[v].push_back(chosen[v]);
  }
  // The best over several seeds grows the grid, since that of one stands at an end by chance as well; of the first ones, so that more
  // seeds leave the grid, and with it every choice, as it is. Where the seeds chose an end all the same, it is said.
  constexpr std::size_t kSeedsThatGrow = 5;
  const auto pooled = choose(0, tune.per_seed ? kSeedsThatGrow * tune.seeds : num_seeds);
  const auto scale = chooser.scale(all);
  out.result.by_ranks = scale == PointScale::ranks;
  for (std::size_t v = 0; v < all.size(); ++v) {
    for (std::size_t axis = 0; axis < tune.axes.size(); ++axis) {
      const auto end = chooser.end_of(axis, pooled[v]);
      if (end && std::find(out.at_ends.begin(), out.at_ends.end(), std::make_pair(axis, *end)) == out.at_ends.end())
        out.at_ends.emplace_back(axis, *end);
    }
    out.result.variants.push_back(chooser.summary(study.variants[v * stride].name, all[v], before[v], scale, out.of[v]));
  }
  return out;
}

}  // namespace ffn
