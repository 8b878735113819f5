#include "study_display.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include "compare_text.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/compare/variant_name.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/shown.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/log.hpp"
#include "train.hpp"

namespace ffn::app {

namespace {

// What of a variant's name is of its model: its width is the same at every learning rate.
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

}  // namespace

StudyDisplay::StudyDisplay(const Plan& plan, const std::vector<std::size_t>& runs, const std::vector<Progress>& found,
                           const CommonOptions& common)
    : plan_(plan), verbosity_(common.verbosity), color_(color_enabled(color_mode(common), 2)) {
  std::int64_t total = 0;
  for (const auto i : runs) {
    total += plan.runs[i].config.train.steps;
    if (found[i] == Progress::finished) done_steps_ += plan.runs[i].config.train.steps;
  }
  const auto options = progress_options(plan.study.name, total, common);
  animate_ = options.animate;
  bar_ = std::make_unique<ProgressBar>(options);
  set_up_log(log_options(verbosity_, color_, [this] { take_off_screen(); }));
  static std::set<std::string> said;  // a command may train several studies of the same layers: tuning, the study itself, more seeds
  for (const auto& variant : plan.study.variants) {
    if (const auto* size = matched_size(variant)) {
      const std::string line = layer_name(variant) + ": d_ff " + format_count(*size->matched_width) + " matches the plain FFN's " +
                               size->match + (std::abs(size->mismatch) < 0.00005 ? "" : " but for " + format_percent(size->mismatch, 2));
      if (said.insert(line).second) log_info(line);
    }
  }
}

StudyDisplay::~StudyDisplay() {
  take_off_screen();
  bar_->finish();
  set_up_log(log_options(verbosity_, color_));
}

void StudyDisplay::receive(const WorkerMessage& m, const std::vector<PlannedCohort>& cohorts) {
  using Kind = WorkerMessage::Kind;
  const auto& cohort = cohorts[m.cohort];
  const auto runs = static_cast<std::int64_t>(cohort.size());
  if (m.kind == Kind::run_finished) {
    loss_ = m.loss;
  } else if (m.kind == Kind::stepped) {
    running_[m.cohort] = m.step * runs;
    loss_ = m.loss;
  } else if (m.kind == Kind::cohort_finished || m.kind == Kind::cohort_failed) {
    running_.erase(m.cohort);
    for (const auto index : cohort) done_steps_ += plan_.runs[index].config.train.steps;
    ++finished_cohorts_;
    if (m.kind == Kind::cohort_finished && m.outcome.trained > 0) {
      // Of a growing study its looks are said: they are many small parts.
      (plan_.study.sequential ? log_debug : log_info)(cohort_line(cohort, m, cohorts.size()));
    }
  }
  std::int64_t steps = done_steps_;
  for (const auto& [index, partial] : running_) steps += partial;
  if (animate_) show_standing();
  bar_->update(steps, loss_);
}

void StudyDisplay::take_off_screen() {
  bar_->clear();
  if (standing_lines_ > 0) write_control(std::cerr, "\x1b[" + std::to_string(standing_lines_) + "A\x1b[J");
  standing_lines_ = 0;
}

void StudyDisplay::show_standing() {
  const auto now = Clock::now();
  const bool due = finished_cohorts_ > shown_cohorts_ && now > next_standing_;
  if (due) {
    standing_ = standing();
    shown_cohorts_ = finished_cohorts_;
    next_standing_ = Clock::now() + std::max<Clock::duration>(std::chrono::seconds(2), 20 * (Clock::now() - now));
  }
  if (standing_.empty() || (!due && standing_lines_ > 0)) return;
  take_off_screen();
  std::cerr << standing_ << std::flush;
  standing_lines_ = static_cast<int>(std::count(standing_.begin(), standing_.end(), '\n'));
}

std::string StudyDisplay::standing() const {
  const auto comparison = compare_plan(plan_, /*resamples=*/200, FromDisk::yes, /*verdicts_only=*/true);
  const auto& target = plan_.study.variants[0].config.train.target;
  const std::string metric = !is_time_metric(comparison.metric) ? comparison.metric : target ? target->metric : "val/loss";
  const auto curves = pictures::read_curves(comparison, {{metric, std::nullopt}});
  return standing_text(comparison, curves.empty() ? nullptr : &curves[0], terminal_width_of(2));
}

std::string StudyDisplay::cohort_line(const PlannedCohort& cohort, const WorkerMessage& m, std::size_t total) const {
  std::set<std::string> variants;
  std::int64_t low = INT64_MAX, high = 0;
  for (const auto index : cohort) {
    variants.insert(plan_.study.variants[plan_.runs[index].variant].shown());
    low = std::min(low, plan_.runs[index].config.seed);
    high = std::max(high, plan_.runs[index].config.seed);
  }
  const std::string name = variants.size() == 1 ? *variants.begin() : std::to_string(variants.size()) + " variants";
  return "[" + std::to_string(finished_cohorts_) + "/" + std::to_string(total) + "] " + name +
         (low == high ? ", seed " + std::to_string(low) : ", seeds " + std::to_string(low) + " to " + std::to_string(high)) + ": " +
         format_counted(m.outcome.trained, "run");
}

}  // namespace ffn::app
