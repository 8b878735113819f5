// A study from the command line: from its check to the comparison at its end.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/compare/compare_json.hpp"
#include "ffn/compare/earlier_answers.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/compare/ranking.hpp"
#include "ffn/data/corpus.hpp"
#include "ffn/data/task.hpp"
#include "ffn/report/exporter.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/lock_file.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/ledger.hpp"
#include "ffn/study/run_study.hpp"
#include "next_command.hpp"
#include "train.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// The study's runs in the study's order: as they stand on disk, or as pending where nothing of this identity is there.
std::vector<FoundRun> planned_runs(const Plan& plan, FoundRuns on_disk) {
  std::map<fs::path, FoundRun> found;
  for (auto& run : on_disk.runs) found[run.path] = std::move(run);
  std::vector<FoundRun> runs;
  for (const auto& planned : plan.runs) {
    const auto at = found.find(planned.directory.lexically_normal());
    const bool same = at != found.end() && at->second.identity == planned.identity;
    runs.push_back(same ? std::move(at->second) : pending_run(planned.config, planned.directory));
  }
  return runs;
}

}  // namespace

Comparison compare_plan(const Plan& plan, std::size_t resamples, FromDisk from_disk, bool verdicts_only) {
  CompareRequest request;
  request.config = comparison_of(plan.study);
  request.resamples = resamples;
  request.in_given_order = true;
  request.tuned = plan.study.tuned;
  if (plan.study.follow_up) request.fresh_share = FollowUp::share(2) / FollowUp::share(1);  // the next follow-up has half of its alpha
  if (const auto& record = plan.study.sequential)
    request.sequential = SequentialRequest{record->maxima, record->comparisons, verdicts_only};
  FoundRuns found;
  if (from_disk == FromDisk::yes && path_exists(plan.directory)) found = find_runs({plan.directory});
  FoundRuns lacking;
  lacking.left_out = found.left_out;
  lacking.strangers = found.strangers;
  auto comparison = compare_runs(planned_runs(plan, std::move(found)), request);
  for (auto& note : notes_about(lacking)) comparison.notes.push_back(std::move(note));
  return comparison;
}

namespace {

// The comparison of what is finished, printed and saved.
void print_and_save(const Comparison& comparison, const Plan& plan, const CommonOptions& common) {
  const Json json = comparison_json(comparison);
  remove_old_temporaries(plan.directory);
  try {
    write_file_atomically(comparison_path(plan.directory), dump_json_lossy(json, 2) + "\n");
  } catch (const SystemError& error) {
    log_warning(error.what());  // a study can be looked at where nothing can be written
  }
  const bool color = color_enabled(color_mode(common), 1);
  if (common.json) print_json(json);
  else {
    std::cout << printable(TerminalExporter({false, false, color, terminal_width_of(1)}).write(comparison), /*keep_colors=*/true);
  }
  std::cout << std::flush;  // before anything is logged: an error of writing is thrown here
}

bool all_claims_hold(const Comparison& comparison) {
  const auto& claims = comparison.history.claims;
  const auto is_met = [](const Expectation& e) { return !e.is_asked || e.outcome == Expectation::Outcome::holds; };
  return std::all_of(claims.begin(), claims.end(), is_met);
}

// Parts of a study have counts and no verdicts: a look at each would be a look at the whole.
void print_part(const TrainedStudy& trained, const CommonOptions& common) {
  const auto& outcome = trained.outcome;
  if (!common.json) return;  // the log has them
  print_json({{"study", trained.plan.directory.string()},
              {"part", trained.part},
              {"runs", outcome.total},
              {"planned", trained.plan.runs.size()},
              {"trained", outcome.trained},
              {"found_finished", outcome.reused},
              {"diverged", outcome.diverged},
              {"failed", outcome.failed.size()}});
}

}  // namespace

// Asks for the comparison of a study that has not begun: what cannot be compared is found before hours of training.
std::size_t check_study(const Study& study, const std::string& source, bool whole) {
  for (const auto& variant : study.variants) task_shape(variant.config.task);  // a missing text is an error, too
  warn_of_few_inputs(study);
  Study one_seed = study;
  one_seed.seeds.resize(1);  // all seeds of a variant have the same keys
  const auto comparison = compare_plan(make_plan(std::move(one_seed), "runs"), 1, FromDisk::no);
  check_expectations(*study.config.expect, comparison, source, whole);
  return comparison.num_comparisons;
}

namespace {

ExitCode exit_code_of(const StudyOutcome& outcome) {
  return outcome.interrupted ? ExitCode::interrupted : !outcome.failed.empty() ? ExitCode::partial : ExitCode::done;
}

bool every_run_diverged(const Comparison& c) {
  std::size_t runs = 0, diverged = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      runs += group.num_runs;
      diverged += group.num_diverged -
                  (is_time_metric(c.metric) ? std::min(group.num_diverged, group.num_hits) : 0);  // one hit is something to compare
    }
  }
  return runs > 0 && diverged == runs;
}

void say_how_to_go_on(const CommonOptions& common) {
  log_info(sentence_and_command("interrupted; the same command goes on:", shell_command(common.argv), STDERR_FILENO));
}

// A study that could not be tuned is not compared.
ExitCode end_of_tuning(const StudyOutcome& outcome, const CommonOptions& common) {
  if (outcome.directory_lost) throw SystemError("the results of the tuning are lost with their directory", "start it again");
  if (outcome.interrupted) say_how_to_go_on(common);
  else
    log_error(std::to_string(outcome.failed.size()) +
              " runs of the tuning failed (see their status.json); nothing was chosen. The same command tries them again");
  return exit_code_of(outcome);
}

}  // namespace

TrainedStudy train_tuned(const Study& study, const TrainOptions& options, const CommonOptions& common) {
  if (!study.tune) return train_runs(study, options, common);
  TrainOptions of_one_text = options;
  for (const auto& variant : study.variants) {
    if (const auto* text = std::get_if<TextConfig>(&variant.config.task)) of_one_text.texts[text->file] = file_identity(text->file);
  }
  const auto tuned = tune_study(study, of_one_text, common);
  if (!tuned.study) return {make_plan(study, common.out), tuned.outcome, "", false};
  return train_runs(*tuned.study, of_one_text, common);
}

int train_study(const Study& given, const std::string& source, const TrainOptions& options, const CommonOptions& common) {
  if (!options.shard.empty()) do_without_locks();
  Study asked = given;
  judge_as_follow_up(asked, common.out, options.fresh);
  check_study(asked, source, common.overrides.empty());
  looks_so_far(asked, fs::path(common.out) / asked.name, options.fresh);
  const auto trained = asked.growing ? train_until_settled(asked, options, common) : train_tuned(asked, options, common);
  if (!trained.is_tuned) return static_cast<int>(end_of_tuning(trained.outcome, common));
  const auto& [plan, outcome, part, is_tuned] = trained;
  const Study& study = plan.study;
  if (outcome.directory_lost) throw SystemError("the results of this study are lost with its directory", "start it again");
  ExitCode code = exit_code_of(outcome);
  auto comparison = compare_plan(plan, CompareRequest().resamples);
  if (part.empty()) {
    if (!study.config.question.empty() && !common.json)
      std::cout << wrapped(printable(study.config.question), terminal_width_of(1)) << "\n";
    record_answer(comparison, comparison_of(study));
    print_and_save(comparison, plan, common);
  } else {
    print_part(trained, common);
  }
  // Neither that all diverged nor a claim about the whole study is judged by a part of it.
  const bool all_diverged = part.empty() && every_run_diverged(comparison);
  if (code == ExitCode::done && all_diverged) code = ExitCode::run_failed;
  if (code == ExitCode::done && part.empty() && !all_claims_hold(comparison)) code = ExitCode::condition;
  log_info((part.empty() ? "" : part + ": ") + format_count(outcome.total) + (part.empty() ? "" : " of " + format_count(plan.runs.size())) +
           (outcome.total == 1 && part.empty() ? " run: " : " runs: ") + format_count(outcome.trained) + " trained now, " +
           format_count(outcome.reused) + " found finished" +
           (outcome.diverged > 0 ? ", " + format_count(outcome.diverged) + " diverged" : "") +
           (outcome.failed.empty() ? "" : ", " + format_count(outcome.failed.size()) + " failed (see their status.json)"));
  if (all_diverged)
    log_error(
        "every run diverged: there is nothing to compare. A lower train.optimizer.lr or train.clip_norm=1 may help, "
        "with --fresh or another name");
  if (outcome.interrupted) say_how_to_go_on(common);
  else if (part.empty()) log_info(last_lines(plan, comparison, {outcome.failed.size(), all_diverged}, common));
  else
    log_info("results: " + plan.directory.string() + "    more: ffn-train compare " + shell_word(plan.directory.string()) +
             " when the other shards are through (ffn-train merge first if they are elsewhere)");
  return static_cast<int>(code);
}

}  // namespace ffn::app
