#include "study_display.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "ffn/base/cores.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/shown_names.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/data/task.hpp"
#include "ffn/report/cells.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/compare_plan.hpp"
#include "ffn/train/memory.hpp"
#include "train.hpp"

namespace ffn::app {

namespace {

// The model's part of a variant's name: its width is the same at every learning rate.
std::string layer_name(const Variant& variant) {
  std::vector<std::string> values;
  for (const auto& [key, value] : parts_of_variant(variant.name)) {
    const bool of_model = std::any_of(variant.assignments.begin(), variant.assignments.end(), [&, key = key](const Assignment& a) {
      return a.key.rfind("model.", 0) == 0 && a.key.size() > key.size() &&
             a.key.compare(a.key.size() - key.size() - 1, std::string::npos, "." + key) == 0;
    });
    if (of_model) values.push_back(value);
  }
  return values.empty() || !variant.config.label.empty() ? variant.shown() : join(values, " ");
}

// In steps; of a program, which has none that are known, in runs.
std::int64_t length_of(const RunConfig& config) { return config.command ? 1 : config.train.steps; }

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

void StudyDisplay::renamed(const std::filesystem::path& earlier_results) {
  log_info("earlier results renamed to " + earlier_results.string());
}

void StudyDisplay::tuning(const Study& study) { (is_short() ? log_debug : log_info)("tuning: " + grid_text(*study.tune)); }

// Said before hours of training.
void StudyDisplay::sequential(const Study& study, const SequentialRecord& record, std::size_t first, std::size_t last) {
  log_info("until decided: from " + format_count(static_cast<std::int64_t>(first)) + " to at most " + format_counted(last, "seed") + "; " +
           std::to_string(record.comparisons) + (record.comparisons == 1 ? " comparison" : " comparisons"));
  if (study.sequential_seeds->max < record.maxima.back())
    log_info("seeds.max " + std::to_string(study.sequential_seeds->max) + " is below the " + std::to_string(record.maxima.back()) +
             " declared before: training goes no further than " + format_counted(last, "seed") +
             ", and verdicts stay those of the larger maximum");
  if (study.config.compare.min_effect == 0)
    log_info(
        "without compare.min_effect, variants that do not differ stay undecided up to the maximum; the smallest difference that matters "
        "lets them end as equal");
}

void StudyDisplay::interim_analysis(const Comparison& c, std::size_t seeds) {
  const std::size_t decided = c.num_comparisons - c.sequential->open;
  log_info("interim analysis at " + format_counted(seeds, "seed") + ": " + std::to_string(decided) + " of " +
           std::to_string(c.num_comparisons) + (c.num_comparisons == 1 ? " comparison" : " comparisons") + " decided");
}

void StudyDisplay::say_how_it_trains(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found) {
  if (!has_said_how_) {
    if (plan.runs[0].config.command)
      log_info("engine: command, " + format_counted(std::min(job_count(common_.jobs, plan.study), runs.size()), "run") +
               " at a time (-j N runs N)");
    for (const auto& share : engine_shares(plan.study)) (share.engine == "cpu" ? log_debug : log_info)(engine_line(share));
    if (const auto few = few_workers_line(common_, plan.study); !few.empty()) log_info(few);
  }
  has_said_how_ = true;
  if (!part_.empty())
    log_info(part_ + ": " + format_count(runs.size()) + " of " + format_count(plan.runs.size()) +
             " runs; the others are trained elsewhere");
  constexpr double kWorthSaying = 200e6;  // bytes: warn early when disk space is short
  double bytes = 0;
  std::size_t pending = 0;
  std::map<std::size_t, double> of_variant;
  for (const auto i : runs) {
    if (found[i] == Progress::finished) continue;
    const std::size_t v = plan.runs[i].variant;
    if (!of_variant.count(v)) {
      const auto& config = plan.study.variants[v].config;
      of_variant[v] = disk_bytes(config, model_cost(config.model, task_shape(config.task)).total);
    }
    bytes += of_variant[v];
    ++pending;
  }
  if (bytes > kWorthSaying)
    log_info(format_counted(pending, "run") + " to train: they will take about " + format_bytes(bytes) + " on disk, in " +
             plan.directory.string());
}

void StudyDisplay::training(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found) {
  const bool has_work = std::any_of(runs.begin(), runs.end(), [&](std::size_t i) { return found[i] != Progress::finished; });
  if (has_work) say_how_it_trains(plan, runs, found);
  shown_.emplace(Shown{plan, nullptr});
  std::int64_t total = 0;
  for (const auto i : runs) {
    total += length_of(plan.runs[i].config);
    if (found[i] == Progress::finished) shown_->done_steps += length_of(plan.runs[i].config);
  }
  auto options = progress_options(plan.study.name, total, common_);
  if (plan.runs[0].config.command) options.unit = "run";
  shown_->animate = options.animate;
  shown_->bar = std::make_unique<ProgressBar>(options);
  set_up_log(log_options(common_.verbosity, color_enabled(color_mode(common_), 2), [this] { take_off_screen(); }));
  if (plan.study.name == kTuningDirectory) return;  // the study itself says it, by its labels
  static std::set<std::string> said;                // a command may train a study several times: with more seeds
  const auto say = [&](const std::string& line, double mismatch) {
    const std::string whole = line + (std::abs(mismatch) < 0.00005 ? "" : " within " + format_percent(std::abs(mismatch), 2));
    if (said.insert(whole).second) log_info(whole);
  };
  for (const auto& variant : plan.study.variants) {
    const auto& model = variant.config.model;
    const auto* size = matched_size(variant);
    if (size)
      say(layer_name(variant) + ": d_ff " + format_count(*size->matched_width) + " matches the plain FFN's " + size->match, size->mismatch);
    if (model.written)
      say(layer_name(variant) + ": d_model " + format_count(model.d_model) + " keeps the parameters of expansion " +
              number_text(*model.match_expansion),
          model.mismatch);
  }
}

void StudyDisplay::trained() {
  if (!shown_) return;
  take_off_screen();
  shown_->bar->finish();
  set_up_log(log_options(common_));
  shown_.reset();
}

void StudyDisplay::message(const WorkerMessage& m, const std::vector<PlannedCohort>& cohorts) {
  using Kind = WorkerMessage::Kind;
  Shown& shown = *shown_;
  const auto& cohort = cohorts[m.cohort];
  const auto runs = static_cast<std::int64_t>(cohort.size());
  if (m.kind == Kind::run_finished) {
    shown.loss = m.loss;
  } else if (m.kind == Kind::stepped) {
    shown.running[m.cohort] = m.step * runs;
    shown.loss = m.loss;
  } else if (m.kind == Kind::cohort_finished || m.kind == Kind::cohort_failed) {
    shown.running.erase(m.cohort);
    for (const auto index : cohort) shown.done_steps += length_of(shown.plan.runs[index].config);
    ++shown.finished_cohorts;
    if (m.kind == Kind::cohort_finished && m.outcome.trained > 0) {
      // A sequential design has many small parts: its interim analyses are said instead.
      (shown.plan.study.sequential || is_short() ? log_debug : log_info)(cohort_line(cohort, m, cohorts.size()));
    }
  }
  std::int64_t steps = shown.done_steps;
  for (const auto& [index, partial] : shown.running) steps += partial;
  if (shown.animate) show_standing();
  shown.bar->update(steps, shown.loss);
}

// Lines of its parts would be longer than the answer.
bool StudyDisplay::is_short() const { return Clock::now() < begun_ + std::chrono::minutes(1); }

void StudyDisplay::take_off_screen() {
  shown_->bar->clear();
  if (shown_->standing_lines > 0) write_control(std::cerr, "\x1b[" + std::to_string(shown_->standing_lines) + "A\x1b[J");
  shown_->standing_lines = 0;
}

void StudyDisplay::show_standing() {
  Shown& shown = *shown_;
  const auto now = Clock::now();
  const bool due = shown.finished_cohorts > shown.shown_cohorts && now > shown.next_standing;
  if (due) {
    shown.standing = standing();
    shown.shown_cohorts = shown.finished_cohorts;
    shown.next_standing = Clock::now() + std::max<Clock::duration>(std::chrono::seconds(2), 20 * (Clock::now() - now));
  }
  if (shown.standing.empty() || (!due && shown.standing_lines > 0)) return;
  take_off_screen();
  std::cerr << shown.standing << std::flush;
  shown.standing_lines = static_cast<int>(std::count(shown.standing.begin(), shown.standing.end(), '\n'));
}

std::string StudyDisplay::standing() const {
  const Plan& plan = shown_->plan;
  const auto comparison = compare_plan(plan, /*resamples=*/200, FromDisk::yes, /*verdicts_only=*/true);
  const auto& target = plan.study.variants[0].config.train.target;
  const std::string metric = !is_time_metric(comparison.metric) ? without_best(comparison.metric) : target ? target->metric : "val/loss";
  const auto curves = report::read_curves(comparison, {{metric, std::nullopt}});
  return progress_text(comparison, curves.empty() ? nullptr : &curves[0], terminal_width_of(2));
}

std::string StudyDisplay::cohort_line(const PlannedCohort& cohort, const WorkerMessage& m, std::size_t total) const {
  std::set<std::string> variants;
  std::int64_t low = INT64_MAX, high = 0;
  for (const auto index : cohort) {
    variants.insert(shown_->plan.study.variants[shown_->plan.runs[index].variant].shown());
    low = std::min(low, shown_->plan.runs[index].config.seed);
    high = std::max(high, shown_->plan.runs[index].config.seed);
  }
  const std::string name = variants.size() == 1 ? *variants.begin() : std::to_string(variants.size()) + " variants";
  return "[" + std::to_string(shown_->finished_cohorts) + "/" + std::to_string(total) + "] " + name +
         (low == high ? ", seed " + std::to_string(low) : ", seeds " + std::to_string(low) + " to " + std::to_string(high)) + ": " +
         format_counted(m.outcome.trained, "run");
}

}  // namespace ffn::app
