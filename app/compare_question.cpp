#include "compare_question.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "ffn/base/error.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/declared_before.hpp"
#include "ffn/compare/later_target.hpp"
#include "ffn/compare/outcomes.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {

namespace {

// Whether it is what the study was declared with. Interim analyses of a sequential design are paid for in its own comparison only.
bool is_own_question(const CompareConfig& asked, const CompareConfig& own, bool all) {
  return !all && dump_json(write_json(asked)) == dump_json(write_json(own));
}

// Takes a study's own comparison for everything that the command line leaves open.
void ask_study(const std::filesystem::path& directory, const CompareQuestion& options, CompareRequest& request) {
  CompareConfig& asked = request.config;
  std::optional<StudyFile> study;
  try {
    study = read_study_file(directory);
  } catch (const Error&) {
    return;  // find_runs says so
  }
  if (!study) return;
  request.in_given_order = !options.all;
  if (!options.all) {
    request.tuned = study->tuned;
    request.ladder = read_ladder(*study->document, directory.string());
  }
  const auto& own = study->compare;
  if (asked.by.empty()) {
    asked.by = own.by;
    if (asked.reference.empty()) asked.reference = own.reference;
    if (asked.over.empty()) asked.over = own.over;
  }
  if (asked.metric.empty()) asked.metric = own.metric;
  if (!options.alpha_given()) asked.alpha = own.alpha;
  // Both are of the study's own metric, and min_effect is on its scale.
  const bool same_metric = asked.metric == own.metric, same_scale = !options.scale_given() || asked.scale == own.scale;
  if (!options.min_effect_given() && same_metric && same_scale) asked.min_effect = own.min_effect;
  if (!options.scale_given() && same_metric) asked.scale = own.scale;
  if (!options.pairs_given()) asked.pairs = own.pairs;
  if (!options.interaction_given() && asked.by == own.by) asked.interaction = own.interaction;
  if (study->sequential && is_own_question(asked, own, options.all))
    request.sequential = SequentialRequest{study->sequential->maxima, study->sequential->comparisons};
}

// The study that these runs are all of, and nothing else.
std::optional<std::filesystem::path> whole_study_of(const RunPlaces& places) {
  namespace fs = std::filesystem;
  std::optional<fs::path> name;  // as it was typed, where that leads there
  fs::path only;
  std::set<fs::path> compared;
  for (const auto& run : places.there) {
    const fs::path path = fs::absolute(run).lexically_normal(), study = path.parent_path().parent_path(),
                   typed = run.parent_path().parent_path();
    if (!only.empty() && study != only) return std::nullopt;
    only = study;
    if (!name) name = !typed.empty() && fs::absolute(typed).lexically_normal() == study ? typed : study;
    compared.insert(path);
  }
  std::set<fs::path> listed;
  try {
    const auto file = only.empty() ? std::nullopt : read_study_file(only);
    if (!file) return std::nullopt;
    for (const auto& run : file->run_directories(only)) {
      if (path_exists(run)) listed.insert(run.lexically_normal());
    }
  } catch (const Error&) {  // find_runs says so
    return std::nullopt;
  }
  return compared == listed ? name : std::nullopt;
}

}  // namespace

Comparison answer_to(const CompareQuestion& question, const std::function<void(const FoundRuns&)>& on_found) {
  std::vector<std::filesystem::path> directories;
  for (const auto& given : question.directories) directories.push_back(named_directory(given));
  auto request = question.request;
  std::optional<TargetConfig> target;
  if (!question.target.empty()) {
    target = read_target(question.target);
    auto& metric = request.config.metric;
    if (metric.empty()) metric = "steps_to_target";
    if (find_metric_row(metric))
      throw UsageError("--target asks when it was reached, and " + metric + " is no such time", "leave --metric out");
  }
  const auto places = find_run_places(directories);
  const auto whole = whole_study_of(places);
  const bool is_named = directories.size() == 1 && has_study_file(directories[0]);
  if (whole && !is_named && !question.all) directories = {*whole};
  if (directories.size() == 1) ask_study(directories[0], question, request);
  auto found = find_runs(directories, question.all ? Extras::include : Extras::leave_out);
  if (found.runs.empty() && !found.left_out.empty())
    throw DataError("no run is whole: " + found.left_out[0], "`ffn-train check` says what is wrong with each");
  if (const auto about = notes_about(found); found.runs.empty() && !about.empty())
    throw DataError("there are no runs to compare: " + join(about, "; "),
                    "`ffn-train check` says how each directory stands; --all takes in runs that no study lists");
  if (target) {
    request.sequential.reset();  // its interim analyses are of the study's own target
    apply_target(*target, question.target, found.runs);
  }
  if (on_found) on_found(found);
  const bool at_hit = std::any_of(found.runs.begin(), found.runs.end(), stops_at_hit);
  auto comparison = compare_runs(std::move(found.runs), request);
  if (at_hit && question.judges && find_metric_row(comparison.metric)) throw UsageError(comparison.metric + kKnownAtHit, kAtHitRemedy);
  for (auto& about : notes_about(found)) comparison.notes.push_back(std::move(about));
  qualify(comparison, request.config);
  return comparison;
}

void add_grouping_options(CommandLine command, CompareQuestion& question) {
  command.option("directories", question.directories, "studies or runs").required().type("DIR...");
  command.option("--by", question.request.config.by, "key whose values are compared; the first that varies otherwise").type("KEY");
  command.flag("--all", question.all, "also runs that lie in a study's directory and are no part of it");
}

void add_question_options(CommandLine command, CompareQuestion& question) {
  auto& asked = question.request.config;
  add_grouping_options(command, question);
  question.judges = true;
  command.option("--metric", asked.metric, "a logged metric, steps_to_target, flops_to_target or seconds_to_target").type("METRIC");
  command
      .option("--target", question.target,
              "compares when runs reached this, whatever they were trained with, such as 'val/loss<=0.01': from their curves")
      .type("TARGET");
  command.option("--over", asked.over, "key whose values are a sample, such as task.file; the study's otherwise").type("KEY");
  command.option("--reference", asked.reference, "value that the others are compared with; the first otherwise").type("VALUE");
  const auto alpha =
      command.option("--alpha", asked.alpha, "chance of a wrong verdict over all comparisons; the study's, or 0.05, otherwise")
          .real_in(1e-6, 0.49);
  const auto min_effect =
      command
          .option(
              "--min-effect", asked.min_effect,
              "smallest difference that matters, in the metric's units, or where ratios are compared as a share (0.05 is a factor of 1.05 "
              "either way); the study's otherwise")
          .real_in(0);
  const auto scale = command.option("--scale", asked.scale, "on what a logged metric is compared; the study's otherwise")
                         .one_of({std::begin(kCompareScales), std::end(kCompareScales)})
                         .type("SCALE");
  const auto pairs = command.option("--pairs", asked.pairs, "which values are compared with each other; the study's otherwise")
                         .one_of({std::begin(kComparePairs), std::end(kComparePairs)})
                         .type("PAIRS");
  const auto interaction =
      command.flag("--interaction", asked.interaction, "also tests whether the differences depend on the second key that varies");
  question.alpha_given = [alpha] { return alpha.given(); };
  question.min_effect_given = [min_effect] { return min_effect.given(); };
  question.scale_given = [scale] { return scale.given(); };
  question.pairs_given = [pairs] { return pairs.given(); };
  question.interaction_given = [interaction] { return interaction.given(); };
}

}  // namespace ffn::app
