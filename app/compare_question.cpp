#include "compare_question.hpp"

#include <filesystem>

#include "ffn/core/error.hpp"
#include "ffn/record/study_file.hpp"

namespace ffn::app {

namespace {

// What makes another question of it than a growing study was declared with; nothing if it is the same.
std::string other_question(const CompareConfig& asked, const CompareConfig& own, bool all) {
  return all ? "--all" : asked.by != own.by ? "--by" : asked.metric != own.metric ? "--metric" : asked.reference != own.reference ? "--reference"
       : asked.alpha != own.alpha             ? "--alpha"
       : asked.min_effect != own.min_effect ? "--min-effect"
       : asked.scale != own.scale             ? "--scale"
                                              : "";
}

// What one study says about its own comparison, where the command line does not say otherwise. Returns a note for who asks a growing
// study something else.
std::string ask_study(const std::filesystem::path& directory, const CompareQuestion& options, CompareRequest& request) {
  CompareConfig& asked = request.config;
  std::optional<StudyFile> study;
  try {
    study = read_study_file(directory);
  } catch (const Error&) {
    return "";  // find_runs says so
  }
  if (!study) return "";
  request.in_given_order = !options.all;
  if (!options.all) request.tuned = study->tuned;
  const auto& own = study->compare;
  if (asked.by.empty()) {
    asked.by = own.by;
    if (asked.reference.empty()) asked.reference = own.reference;
  }
  if (asked.metric.empty()) asked.metric = own.metric;
  if (!options.alpha_given()) asked.alpha = own.alpha;
  // Both are of the study's own metric, and min_effect is on its scale.
  const bool same_metric = asked.metric == own.metric, same_scale = !options.scale_given() || asked.scale == own.scale;
  if (!options.min_effect_given() && same_metric && same_scale) asked.min_effect = own.min_effect;
  if (!options.scale_given() && same_metric) asked.scale = own.scale;
  if (!study->sequential) return "";
  const std::string other = other_question(asked, own, options.all);
  if (other.empty()) request.sequential = SequentialRequest{study->sequential->maxima, study->sequential->comparisons};
  return other.empty() ? "" : "this study added seeds until another question was settled (" + other + " differs from what it declared), so these "
                              "verdicts, of a fixed number of seeds, may be wrong more often than they say";
}

}  // namespace

Comparison answer_to(const CompareQuestion& question, const std::function<void(const FoundRuns&)>& look) {
  const std::vector<std::filesystem::path> directories(question.directories.begin(), question.directories.end());
  auto request = question.request;
  std::string note;
  if (directories.size() == 1) note = ask_study(directories[0], question, request);
  auto found = find_runs(directories, question.all ? Extras::include : Extras::leave_out);
  if (found.runs.empty() && !found.left_out.empty())
    throw DataError("no run is whole: " + found.left_out[0], "`ffn-train check` says what is wrong with each");
  if (look) look(found);
  auto comparison = compare_runs(std::move(found.runs), request);
  for (auto& about : notes_about(found)) comparison.notes.push_back(std::move(about));
  if (!note.empty()) comparison.notes.push_back(note);
  return comparison;
}

void add_question_options(CommandLine command, CompareQuestion& question) {
  auto& asked = question.request.config;
  command.option("directories", question.directories, "studies or runs").required().type("DIR...");
  command.option("--by", asked.by, "key whose values are compared; the first that varies otherwise").type("KEY");
  command.option("--metric", asked.metric, "a logged metric, steps_to_target, flops_to_target or seconds_to_target").type("NAME");
  command.option("--reference", asked.reference, "value that the others are compared with; the first otherwise").type("VALUE");
  const auto alpha = command.option("--alpha", asked.alpha, "chance of a wrong verdict over all comparisons; the study's, or 0.05, otherwise").real_in(1e-6, 0.49);
  const auto min_effect = command.option("--min-effect", asked.min_effect, "smallest difference that matters, in the metric's units, or as a share (0.05 is 5 %) where ratios are compared; the study's otherwise").non_negative();
  const auto scale = command.option("--scale", asked.scale, "on what a logged metric is compared; the study's otherwise").one_of({std::begin(kCompareScales), std::end(kCompareScales)}).type("SCALE");
  question.alpha_given = [alpha] { return alpha.given(); };
  question.min_effect_given = [min_effect] { return min_effect.given(); };
  question.scale_given = [scale] { return scale.given(); };
  command.flag("--all", question.all, "also runs that lie in a study's directory and are no part of it");
}

}  // namespace ffn::app
