// What a study tunes, before it compares: trains the grid, chooses, and lets the grid grow where a choice stands at its end.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/compare/tuning.hpp"
#include "ffn/report/tuned.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/moved_aside.hpp"
#include "ffn/study/other_study.hpp"
#include "ffn/study/other_tuning.hpp"
#include "train.hpp"

namespace ffn::app {

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
  std::vector<std::filesystem::path> runs;
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

// Before anything is tuned: what comes of it has a place, and what is in the way is not lost.
void refuse_what_is_there(const Study& study, bool fresh, const std::filesystem::path& out) {
  if (!fresh) {
    refuse_other_tuning(study, out);
    refuse_untuned_study(study, out);
    return;
  }
  refuse_study_in_place_of_tuning(study, out);
  if (const auto directory = out / study.name; path_exists(directory)) require_results(directory);
}

std::string grid_text(const TuningConfig& tune) {
  std::vector<std::string> parts;
  for (const auto& axis : tune.axes) {
    std::vector<std::string> values;
    for (const auto& value : axis.values) values.push_back(value->is_string() ? value->get<std::string>() : dump_json(*value));
    parts.push_back(axis.key + " = " + join(values));
  }
  return join(parts, "; ");
}

}  // namespace

TuningStanding tuning_standing(Study study, const std::string& out) {
  for (int growth = 0;; ++growth) {
    Plan plan = make_plan(tuning_study(study), out);
    if (!all_ended(plan)) return {std::move(study), std::move(plan), std::nullopt};
    auto choices = choices_of(study, plan);
    if (auto longer = with_longer_grid(study, choices, growth)) study = std::move(*longer);
    else {
      Study chosen = chosen_study(study, std::move(choices));
      return {std::move(study), std::move(plan), std::move(chosen)};
    }
  }
}

Tuned tune_study(Study study, const TrainOptions& options, const CommonOptions& common) {
  if (!options.shard.empty())
    throw UsageError("--shard divides a study, and what is tuned is chosen from all of it",
                     "start the command on every machine that shares the directory, or tune first");
  if (!options.goes_on) refuse_what_is_there(study, options.fresh, common.out);
  Tuned out{std::nullopt, {}};
  const auto& tune = *study.tune;
  if (!tune.per_seed && study.variants.size() > 1) {
    if (const auto caution =
            caution_about_one_choice(tune.seeds, study.growing ? study.growing->max : study.seeds.size(), study.config.compare.min_effect);
        !caution.empty())
      log_info("note: " + caution);
  }
  TrainOptions tuning_options = options;
  tuning_options.fingerprint = sha256_hex(dump_json(*study.document));  // the same while the grid grows
  for (int growth = 0;; ++growth) {
    const Study tuning = tuning_study(study);
    const Plan plan = make_plan(tuning, common.out);
    require_texts(plan, options.texts);
    if (tuning_options.fresh || !all_ended(plan)) {
      log_info("tuning: " + grid_text(*study.tune));
      out.outcome = train_runs(tuning, tuning_options, common).outcome;
      tuning_options.fresh = false;
      if (out.outcome.interrupted || out.outcome.directory_lost || !out.outcome.failed.empty()) return out;
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

}  // namespace ffn::app
