#include "budget.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "ffn/base/duration.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/tuning.hpp"
#include "plan_estimate.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

constexpr double kReserve = 0.1;
constexpr std::size_t kMostFitting = 1000;  // more would tell nobody more
constexpr std::size_t kEnoughToTry = 50;    // whose time each is that of any more

// Seconds of a study from nothing: tuning that does not depend on the number of seeds, and all.
struct Takes {
  double tuning = 0, all = 0;
};

Takes takes(const Study& study, const CommonOptions& common) {
  const fs::path nowhere = fs::path(common.out) / (study.name + "-as-if-new");
  std::optional<TuningProgress> tuning;
  if (study.tune) tuning = tuning_progress(study, nowhere);
  const Plan plan = make_plan(tuning ? tuning->chosen : study, nowhere);
  auto found = counted(plan, job_count(common.jobs, plan.study));
  measure(plan, found);
  const double judged = found.seconds.value_or(0);
  if (tuning) add_tuning(tuning->plan, true, found);
  const double all = found.seconds.value_or(0);
  return {study.tune && !study.tune->per_seed ? all - judged : 0, all};
}

std::size_t most_seeds(const Study& study) {
  const std::size_t tuned = study.tune && study.tune->per_seed ? study.tune->num_points() * study.tune->seeds : 1;
  return std::max<std::size_t>(1, std::min(kMostFitting, kMaxRuns / (study.variants.size() * tuned)));
}

std::size_t seeds_within(double budget, const Takes& takes, std::size_t seeds, std::size_t most) {
  const double each = (takes.all - takes.tuning) / static_cast<double>(seeds);
  const double affordable = ((1 - kReserve) * budget - takes.tuning) / each;
  return affordable >= static_cast<double>(most) ? most : static_cast<std::size_t>(std::max(0.0, affordable));
}

Document with_seeds(Document document, std::size_t seeds) {
  document.tree()["seeds"] = seeds;
  return document;
}

std::string affordable_line(const AffordableSeeds& f, const Study& study) {
  return format_counted(f.seeds, "seed") + (f.seeds == 1 ? " fits" : " fit") + " into " + format_duration(f.budget) +
         (f.seeds > 0 ? ": about " + format_duration(f.seconds) : "") + (f.seeds == f.most ? "; a budget takes no more" : "") +
         (study.tune ? "; grids that grow come on top" : "");
}

}  // namespace

double budget_seconds(const std::string& text) {
  const auto seconds = seconds_in(text);
  if (!seconds) throw UsageError("--budget: '" + text + "' is no time", "write it as in 90s, 30m, 1h, 2h30m or 1d");
  return *seconds;
}

AffordableSeeds affordable_seeds(const Document& document, const Study& study, double budget, const CommonOptions& common) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  AffordableSeeds out;
  const auto left = [&] {
    out.probe_seconds = std::chrono::duration<double>(Clock::now() - began).count();
    return budget - out.probe_seconds;
  };
  out.budget = budget;
  out.asked = study.seeds.size();
  const auto most = out.most = most_seeds(study);
  auto now = takes(study, common);
  out.asked_seconds = now.all;
  auto tried = out.asked;
  out.seeds = seeds_within(left(), now, tried, most);
  // Many runs side by side take less each than few.
  if (out.seeds > 0 && out.seeds != tried && left() > (1 - kReserve) * budget) {
    tried = std::min(out.seeds, kEnoughToTry);
    now = takes(read_study(with_seeds(document, tried), ""), common);
    out.seeds = seeds_within(left(), now, tried, most);
  }
  out.seconds = now.tuning + (now.all - now.tuning) * static_cast<double>(out.seeds) / static_cast<double>(tried);
  return out;
}

std::string affordable_text(const AffordableSeeds& f, const Study& study) {
  const double times = (1 - kReserve) * f.budget / f.asked_seconds;
  const auto variants = static_cast<std::int64_t>(times * static_cast<double>(study.variants.size()));
  return affordable_line(f, study) + ". With " + format_counted(f.asked, "seed") + ": " + format_significant(times, 2) +
         " times the steps, or " + format_count(variants) + (variants == 1 ? " variant" : " variants") + " instead of " +
         format_count(static_cast<std::int64_t>(study.variants.size()));
}

std::string keeps_seeds(const Document& document, const std::string& name, const CommonOptions& common) {
  if (has_command(document))
    throw UsageError("--budget needs a short probe of each run, and a program has none",
                     "give a number of seeds; engine.timeout bounds a run");
  const Json seeds = document.tree().value("seeds", Json(1));
  if (!seeds.is_number() || document.origin("/seeds").is_override())
    throw UsageError(
        "--budget chooses the number of seeds, and they are " + std::string(seeds.is_array()    ? "listed"
                                                                            : seeds.is_object() ? "added until every comparison is decided"
                                                                                                : "given"),
        "leave one of the two out");
  const fs::path directory = fs::path(common.out) / name;
  const auto before = read_study_file(directory);
  if (!before) return "";
  if (before->sequential)
    throw UsageError(directory.string() + " was begun as a sequential design, which no budget limits",
                     "take another name, or leave --budget out");
  return directory.string() + " was begun with " + format_counted(before->seeds.size(), "seed") +
         " and keeps them, whatever the budget; another name or --fresh begins anew";
}

Document within_budget(Document document, const std::string& budget, const TrainOptions& options, const CommonOptions& common) {
  const double seconds = budget_seconds(budget);
  if (!is_study(document))
    throw UsageError("--budget chooses how many seeds of a study are trained, and this is one run",
                     "`ffn-train plan " + common.config + " --budget " + budget + "` says what fits; train.steps=N sets the steps");
  const Study study = read_study(document, common.config);
  const std::string kept = keeps_seeds(document, study.name, common);
  if (!kept.empty() && !options.fresh) {
    document.tree()["seeds"] = read_study_file(fs::path(common.out) / study.name)->document->value("seeds", Json(1));
    log_info(kept);
    return document;
  }
  const auto found = affordable_seeds(document, study, seconds, common);
  if (found.seeds == 0)
    throw UsageError("no seed of this study fits into " + format_duration(seconds) + ": the probe takes " +
                         format_duration(found.probe_seconds) + ", and " + format_counted(found.asked, "seed") + " would take about " +
                         format_duration(found.asked_seconds),
                     "choose fewer variants, fewer train.steps, or a larger budget");
  log_info(affordable_line(found, study));
  return with_seeds(std::move(document), found.seeds);
}

}  // namespace ffn::app
