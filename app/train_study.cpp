// A study from the command line: from its check to the comparison at its end.
#include "ffn/study/train_study.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/declared_before.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/compare/expect.hpp"
#include "ffn/compare/ranking.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/output.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/lock_file.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/seen_runs.hpp"
#include "ffn/store/study_file.hpp"
#include "ffn/study/compare_plan.hpp"
#include "ffn/train/engine.hpp"
#include "next_command.hpp"
#include "signals.hpp"
#include "study_display.hpp"
#include "train.hpp"

namespace ffn::app {

namespace {

// The comparison of what is finished, printed and saved.
void print_and_save(const Comparison& comparison, const Plan& plan, const CommonOptions& common) {
  const Json json = answered_json(comparison);
  save_comparison(plan, json);
  const bool color = color_enabled(color_mode(common), 1);
  if (common.json) print_json(json);
  else {
    std::cout << printable(export_terminal(comparison, {false, false, color, terminal_width_of(1)}), /*keep_colors=*/true);
  }
  std::cout << std::flush;  // before anything is logged: an error of writing is thrown here
}

bool all_claims_hold(const Comparison& comparison) {
  const auto& claims = comparison.history.claims;
  const auto is_met = [](const Expectation& e) { return !e.is_asked || e.outcome == Expectation::Outcome::holds; };
  return std::all_of(claims.begin(), claims.end(), is_met);
}

// Parts of a study have counts and no verdicts: a look at each would be a look at the whole.
void print_part(const TrainedStudy& trained, const std::string& part, const CommonOptions& common) {
  const auto& outcome = trained.outcome;
  if (!common.json) return;  // the log has them
  print_json({{"study", trained.plan.directory.string()},
              {"part", part},
              {"runs", outcome.total},
              {"planned", trained.plan.runs.size()},
              {"trained", outcome.trained},
              {"found_finished", outcome.reused},
              {"diverged", outcome.diverged},
              {"failed", outcome.failed.size()}});
}

ExitCode exit_code_of(const StudyOutcome& outcome) {
  return outcome.interrupted ? ExitCode::interrupted : !outcome.failed.empty() ? ExitCode::partial : ExitCode::done;
}

// Programs that failed; they are not begun again.
std::size_t num_failed_programs(const Plan& plan, const Comparison& c) {
  std::size_t failed = 0;
  if (plan.runs[0].config.command) for_each_group(c, [&](const Facet&, const GroupResult& group) { failed += group.num_failed; });
  return failed;
}

bool every_run_diverged(const Comparison& c, std::size_t num_failed_programs) {
  std::size_t runs = 0, diverged = 0;
  for (const auto& facet : c.facets) {
    for (const auto& group : facet.groups) {
      runs += group.num_runs;
      diverged += group.num_diverged -
                  (is_time_metric(c.metric) ? std::min(group.num_diverged, group.num_hits) : 0);  // one hit is something to compare
    }
  }
  return runs > 0 && diverged + num_failed_programs == runs;
}

// A study that could not be tuned is not compared.
ExitCode end_of_tuning(const StudyOutcome& outcome, const CommonOptions& common) {
  if (outcome.interrupted) say_how_to_go_on(common);
  else
    log_error(std::to_string(outcome.failed.size()) +
              " runs of the tuning failed (see their run.json); nothing was chosen. The same command tries them again");
  return exit_code_of(outcome);
}

}  // namespace

void say_how_to_go_on(const CommonOptions& common) {
  log_info(sentence_and_command("interrupted; the same command goes on:", shell_command(common.argv), STDERR_FILENO));
}

StudyRequest study_request(const TrainOptions& options, const CommonOptions& common) {
  StudyRequest request;
  request.out = common.out;
  request.argv = common.argv;
  request.jobs = common.jobs;
  request.shard = options.shard.empty() ? Shard() : parse_shard(options.shard);
  request.fresh = options.fresh;
  request.fail_fast = options.fail_fast;
  request.prepare = [](const RunConfig& config) {
    require_memory(config);
    training_engine().prepare(config);
  };
  request.engine = []() -> Engine& { return training_engine(); };
  request.in_worker = handle_worker_signals;
  request.stop = stop_requested;
  return request;
}

int train_study(const Study& given, const std::string& source, const TrainOptions& options, const CommonOptions& common) {
  Study asked = given;
  warn_of_few_inputs(asked);
  check_study(asked, source, common.overrides.empty());
  log_data_and_optimizer(asked);
  const StudyRequest request = study_request(options, common);
  const std::string part =
      request.shard.count == 1 ? "" : "shard " + format_count(request.shard.index) + " of " + format_count(request.shard.count);
  StudyDisplay display(part, common);
  const auto trained = ffn::train_study(std::move(asked), request, display);
  if (!trained.is_tuned) return static_cast<int>(end_of_tuning(trained.outcome, common));
  const auto& [plan, outcome, is_tuned] = trained;
  const Study& study = plan.study;
  ExitCode code = exit_code_of(outcome);
  auto comparison = compare_plan(plan, CompareRequest().resamples);
  std::vector<std::string> values;
  for (const auto& run : comparison.runs) values.push_back(run.values);
  if (outcome.trained + outcome.reused > 0) record_seen(plan.directory, values);
  if (part.empty()) {
    if (!study.config.question.empty() && !common.json)
      std::cout << wrapped(printable(study.config.question), terminal_width_of(1)) << "\n";
    qualify(comparison, comparison_of(study));
    print_and_save(comparison, plan, common);
  } else {
    print_part(trained, part, common);
  }
  // Neither that all diverged nor a claim about the whole study is judged by a part of it.
  const std::size_t lost = num_failed_programs(plan, comparison), failed = lost + outcome.failed.size();
  const bool all_diverged = part.empty() && every_run_diverged(comparison, lost);
  if (code == ExitCode::done && all_diverged) code = ExitCode::run_failed;
  if (code == ExitCode::done && lost > 0) code = ExitCode::partial;
  if (code == ExitCode::done && part.empty() && !all_claims_hold(comparison)) code = ExitCode::condition;
  log_info((part.empty() ? "" : part + ": ") + format_count(outcome.total) + (part.empty() ? "" : " of " + format_count(plan.runs.size())) +
           (outcome.total == 1 && part.empty() ? " run: " : " runs: ") + format_count(outcome.trained) + " trained now, " +
           format_count(outcome.reused) + " found finished" +
           (outcome.diverged > 0 ? ", " + format_count(outcome.diverged) + " diverged" : "") +
           (failed == 0 ? "" : ", " + format_count(failed) + " failed (see their run.json)") +
           (lost == 0 ? "" : ". Failed programs count as the worst and are not started again: `ffn-train rm` removes a run, --fresh all"));
  if (all_diverged && (lost > 0 || study.variants.at(0).config.command))
    log_error("every run failed or diverged: " + read_record(plan.runs[0].directory)->reason);
  else if (all_diverged)
    log_error("every run diverged: there is nothing to compare; " + against_divergence(study.variants.at(0).config) +
              ", with --fresh or another name");
  if (outcome.interrupted) say_how_to_go_on(common);
  else if (part.empty()) log_info(last_lines(plan, comparison, {outcome.failed.size(), all_diverged}, common));
  else
    log_info("results: " + plan.directory.string() + "    more: ffn-train compare " + shell_word(plan.directory.string()) +
             " when the other shards are through (ffn-train merge first if they are elsewhere)");
  return static_cast<int>(code);
}

}  // namespace ffn::app
