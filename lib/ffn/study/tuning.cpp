#include "ffn/study/tuning.hpp"

#include <algorithm>

#include "ffn/compare/tuning.hpp"
#include "ffn/data/run_identity.hpp"

namespace ffn {
namespace fs = std::filesystem;

namespace {

bool all_ended(const Plan& plan) {
  const auto found = progress_of(plan.runs);
  return std::all_of(found.begin(), found.end(), [](Progress progress) { return progress == Progress::finished; });
}

// True if an axis has become longer.
bool grow(TuningConfig& tune, const std::vector<std::pair<std::size_t, GridEnd>>& at_ends) {
  bool any = false;
  for (const auto& [axis, end] : at_ends) any = extend(tune.axes[axis], end) || any;
  return any;
}

// Beyond what a config allows, a grid does not grow.
bool is_possible(const Study& study) {
  try {
    tuning_study(study);
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

TuningChoices choices_of(const Study& study, const Plan& plan) {
  std::vector<fs::path> runs;
  for (const auto& run : plan.runs) runs.push_back(run.directory);
  return choose_points(study, runs);
}

// Nothing where the grid is as it stays.
std::optional<Study> with_longer_grid(const Study& study, const TuningChoices& choices, int growth) {
  Study longer = study;
  return growth < kMostGridGrowth && grow(*longer.tune, choices.at_ends) && is_possible(longer) ? std::optional<Study>(std::move(longer))
                                                                                                : std::nullopt;
}

Study chosen_study(const Study& study, TuningChoices choices) {
  Study out = with_choices(study, choices.of);
  out.tuned = std::move(choices.result);
  return out;
}

}  // namespace

Plan tuning_plan(const Study& study, const fs::path& out) { return make_plan(tuning_study(study), out / study.name / kTuningDirectory); }

TuningProgress tuning_progress(Study study, const fs::path& out) {
  for (int growth = 0;; ++growth) {
    Plan plan = tuning_plan(study, out);
    if (!all_ended(plan)) {
      const std::vector<std::size_t> first(study.tune->per_seed ? study.seeds.size() : 1, 0);
      Study chosen = with_choices(study, std::vector<std::vector<std::size_t>>(study.variants.size(), first));
      return {std::move(study), std::move(plan), std::move(chosen)};
    }
    auto choices = choices_of(study, plan);
    if (auto longer = with_longer_grid(study, choices, growth)) study = std::move(*longer);
    else {
      Study chosen = chosen_study(study, std::move(choices));
      return {std::move(study), std::move(plan), std::move(chosen)};
    }
  }
}

Tuned tune_study(Study study, const StudyRequest& request, StudyObserver& observer) {
  if (request.shard.count > 1)
    throw UsageError("--shard divides a study, and what is tuned is chosen from all of it",
                     "start the command on every machine that shares the directory, or tune first");
  Tuned out;
  for (int growth = 0;; ++growth) {
    const Plan plan = tuning_plan(study, request.out);
    if (!all_ended(plan)) {
      observer.tuning(study);
      out.outcome = train_plan(plan, request, observer);
      if (out.outcome.interrupted || !out.outcome.failed.empty()) return out;
    } else {
      keep_study_file(plan, /*has_work=*/false, /*any_finished=*/true);  // damaged, it is written anew
    }
    auto choices = choices_of(study, plan);
    if (auto longer = with_longer_grid(study, choices, growth)) {
      study = std::move(*longer);
      continue;
    }
    out.study = chosen_study(study, std::move(choices));
    return out;
  }
}

}  // namespace ffn
