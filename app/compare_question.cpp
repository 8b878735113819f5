#include "compare_question.hpp"

#include <filesystem>
#include <map>
#include <set>

#include "ffn/core/error.hpp"
#include "ffn/core/files.hpp"
#include "ffn/core/shell.hpp"
#include "ffn/core/suggest.hpp"
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
    if (asked.over.empty()) asked.over = own.over;
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

/// Whose runs are compared.
struct Owners {
  std::vector<std::filesystem::path> growing;    ///< studies that add seeds until settled
  std::optional<std::filesystem::path> whole;    ///< the study that these runs are all of, and nothing else
};

Owners owners_of(const RunPlaces& places) {
  namespace fs = std::filesystem;
  struct Member {
    std::set<fs::path> runs;  ///< that it lists and that are there
    bool grows = false;
    fs::path name;  ///< as it was typed, where that leads there
  };
  std::map<fs::path, Member> studies;
  std::set<fs::path> compared;
  bool all_listed = true;
  for (const auto& run : places.there) {
    const fs::path path = fs::absolute(run).lexically_normal();
    const fs::path study = path.parent_path().parent_path();
    if (!studies.count(study)) {
      Member member;
      const fs::path typed = run.parent_path().parent_path();
      member.name = !typed.empty() && fs::absolute(typed).lexically_normal() == study ? typed : study;
      try {
        if (const auto file = read_study_file(study)) {
          for (const auto& listed : file->run_directories(study)) {
            if (path_exists(listed)) member.runs.insert(listed.lexically_normal());
          }
          member.grows = file->sequential.has_value();
        }
      } catch (const Error&) {  // find_runs says so
      }
      studies[study] = std::move(member);
    }
    all_listed = all_listed && studies[study].runs.count(path) > 0;
    compared.insert(path);
  }
  Owners out;
  for (const auto& [study, member] : studies) {
    if (member.grows) out.growing.push_back(member.name);
  }
  if (studies.size() == 1 && all_listed && compared == studies.begin()->second.runs) out.whole = studies.begin()->second.name;
  return out;
}

// Looks are paid for in the study's own comparison only.
std::string note_on_growing(const std::vector<std::filesystem::path>& studies) {
  std::vector<std::string> names;
  for (const auto& study : studies) names.push_back(study.string());
  return join(names, " and ") + (names.size() == 1 ? " added" : " each added") + " seeds until its own question was settled; in part or beside other runs, what it found is judged as "
         "of a fixed number of seeds, so these verdicts may be wrong more often than they say (by its looks: ffn-train compare " + shell_word(names[0]) + ")";
}

}  // namespace

Comparison answer_to(const CompareQuestion& question, const std::function<void(const FoundRuns&)>& look) {
  std::vector<std::filesystem::path> directories(question.directories.begin(), question.directories.end());
  auto request = question.request;
  std::string note;
  const auto places = find_judging_places(directories);
  const auto owners = owners_of(places);
  const bool is_named = directories.size() == 1 && has_study_file(directories[0]);
  if (owners.whole && !is_named && !question.all) directories = {*owners.whole};
  if (directories.size() == 1) note = ask_study(directories[0], question, request);
  if (!request.sequential && note.empty() && !owners.growing.empty()) note = note_on_growing(owners.growing);
  auto found = find_runs(directories, question.all ? Extras::include : Extras::leave_out);
  if (found.runs.empty() && !found.left_out.empty())
    throw DataError("no run is whole: " + found.left_out[0], "`ffn-train check` says what is wrong with each");
  found.tuning = places.tuning;
  if (const auto about = notes_about(found); found.runs.empty() && !about.empty())
    throw DataError("there are no runs to compare: " + join(about, "; "), "`ffn-train check` says how each directory stands; --all takes in runs that no study lists");
  if (look) look(found);
  auto comparison = compare_runs(std::move(found.runs), request);
  for (auto& about : notes_about(found)) comparison.notes.push_back(std::move(about));
  if (!note.empty()) comparison.notes.push_back(note);
  return comparison;
}

void add_grouping_options(CommandLine command, CompareQuestion& question) {
  command.option("directories", question.directories, "studies or runs").required().type("DIR...");
  command.option("--by", question.request.config.by, "key whose values are compared; the first that varies otherwise").type("KEY");
  command.flag("--all", question.all, "also runs that lie in a study's directory and are no part of it");
  question.alpha_given = question.min_effect_given = question.scale_given = [] { return false; };
}

void add_question_options(CommandLine command, CompareQuestion& question) {
  auto& asked = question.request.config;
  add_grouping_options(command, question);
  command.option("--metric", asked.metric, "a logged metric, steps_to_target, flops_to_target or seconds_to_target").type("METRIC");
  command.option("--over", asked.over, "key whose values are a sample, such as task.file; the study's otherwise").type("KEY");
  command.option("--reference", asked.reference, "value that the others are compared with; the first otherwise").type("VALUE");
  const auto alpha = command.option("--alpha", asked.alpha, "chance of a wrong verdict over all comparisons; the study's, or 0.05, otherwise").real_in(1e-6, 0.49);
  const auto min_effect = command.option("--min-effect", asked.min_effect, "smallest difference that matters, in the metric's units, or where ratios are compared as a share (0.05 is a factor of 1.05 either way); the study's otherwise").non_negative();
  const auto scale = command.option("--scale", asked.scale, "on what a logged metric is compared; the study's otherwise").one_of({std::begin(kCompareScales), std::end(kCompareScales)}).type("SCALE");
  question.alpha_given = [alpha] { return alpha.given(); };
  question.min_effect_given = [min_effect] { return min_effect.given(); };
  question.scale_given = [scale] { return scale.given(); };
}

}  // namespace ffn::app
