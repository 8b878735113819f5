// ffn-train judge FILE...: verdicts on runs that other trainers made, from tables of their results.
#include "ffn/compare/judge.hpp"

#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../comparison_output.hpp"
#include "ffn/compare/run_plan.hpp"
#include "ffn/report/format.hpp"

namespace ffn::app {

namespace {

struct JudgeFlags {
  JudgeQuestion question;
  ComparisonOutput output;
  bool lower = false, higher = false, plan = false;
  std::string design, effect, sd;
  std::vector<std::string> noise;
  std::int64_t maximum = 40;
};

int plan(JudgeFlags& options, const CommonOptions& common) {
  if (options.effect.empty())
    throw UsageError("--plan needs the effect to be found", "--effect 0.5% is a relative one, --effect 0.005 one of the metric");
  auto noise = options.question;
  noise.files = options.noise;
  const auto plan = plan_runs(options.effect, options.sd, noise);
  const auto amount = [&](double x) { return plan.is_relative ? format_significant(100 * x, 3) + " %" : format_significant(x, 3); };
  if (common.json) {
    Json rows = Json::array();
    for (const auto& row : plan.rows) rows.push_back({{"design", row.design}, {"runs", row.num_runs > 0 ? Json(row.num_runs) : Json()}});
    print_json({{"effect", options.effect},
                {"sd", plan.sd},
                {"relative", plan.is_relative},
                {"correlation", plan.correlation ? Json(*plan.correlation) : Json()},
                {"rows", rows},
                {"notes", plan.notes}});
    return 0;
  }
  Table table({{"design", Align::left}, {"runs of each variant", Align::right}});
  for (const auto& row : plan.rows)
    table.add_row({row.design, row.num_runs > 0 ? format_count(static_cast<std::int64_t>(row.num_runs)) : "over 100,000"});
  print_text("To find an effect of " + options.effect + " where runs have a standard deviation of " + amount(plan.sd) +
                 ", with a chance of 80 % and one comparison at 5 %:\n",
             0);
  print_table(table, common);
  for (const auto& note : plan.notes) print_text("note: " + note + "\n");
  return 0;
}

int judge_tables(JudgeFlags& options, const CommonOptions& common) {
  auto& question = options.question;
  if (options.lower || options.higher) question.columns.higher_is_better = options.higher;
  if (options.plan) return plan(options, common);
  if (!(options.effect + options.sd).empty() || !options.noise.empty())
    throw UsageError("--effect, --sd and --noise belong to --plan", "add --plan");
  if (question.files.empty())
    throw UsageError("no table of runs is named", "ffn-train judge runs.csv, with a row for each run: act,seed,val_loss");
  if (!options.design.empty()) question.maximum = static_cast<std::size_t>(options.maximum);
  const auto answer = judge_files(question);
  if (answer.comparison) return show_comparison(*answer.comparison, options.output, common);
  if (common.json) print_json({{"declared", answer.declared}});
  else print_text(answer.declared + "\n", 0);
  return 0;
}

}  // namespace

void add_judge(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("judge", "the same verdicts on runs of another trainer, from a CSV or JSONL file");
  auto options = std::make_shared<JudgeFlags>();
  auto& question = options->question;
  auto& columns = question.columns;
  command
      .option("files", question.files,
              "tables with a row for each run, or for each step of each run; several are a variant each; or a TensorBoard log directory")
      .type("FILE");
  command.option("--by", columns.by, "column of the variants that are compared").type("COLUMN");
  command.option("--seed", columns.seed, "column of seeds: runs are paired where all variants have the same").type("COLUMN");
  command.option("--metric", columns.metric, "column that is judged").type("COLUMN");
  const auto lower = command.flag("--lower", options->lower, "lower is better");
  command.flag("--higher", options->higher, "higher is better").excludes(lower);
  command.option("--facet", columns.facets, "column whose values are judged side by side, such as a size").type("COLUMN");
  command.option("--step", columns.step, "column of steps, where runs have a row for each").type("COLUMN");
  command.option("--take", question.take, "of a run with steps: its last value, its best, or target=V, the first step at V").type("WHAT");
  auto& asked = question.config;
  command.option("--reference", asked.reference, "variant that the others are compared with; the first otherwise").type("VALUE");
  command.option("--alpha", asked.alpha, "chance of a wrong verdict over all comparisons").real_in(1e-6, 0.49);
  command.option("--min-effect", asked.min_effect, "smallest difference that matters; where ratios are compared, a share").real_in(0);
  command.option("--scale", asked.scale, "on what the metric is compared")
      .one_of({std::begin(kCompareScales), std::end(kCompareScales)})
      .type("SCALE");
  command.option("--pairs", asked.pairs, "which variants are compared with each other")
      .one_of({std::begin(kComparePairs), std::end(kComparePairs)})
      .type("PAIRS");
  command.option("--design", options->design, "declares that you will look more than once, before the first look")
      .one_of({"settled"})
      .type("DESIGN");
  command.option("--max", options->maximum, "runs of each variant at most, in a design").integer_in(8, 10000).type("N");
  command.option("--claim", question.claims, "recorded and checked, such as 'gelu is better' or 'gelu is not worse'; declare it first")
      .type("CLAIM");
  command.option("-o,--out", question.record_directory, "keeps the record of looks there; beside the first file by name otherwise")
      .directory()
      .type("DIR");
  command.flag("--plan", options->plan, "how many runs an effect needs");
  command.option("--effect", options->effect, "of --plan: the effect, such as 0.5%").type("SIZE");
  const auto sd = command.option("--sd", options->sd, "of --plan: the standard deviation of a run").type("SIZE");
  command.option("--noise", options->noise, "of --plan: runs that differ in their seeds alone, to measure it").type("FILE").excludes(sd);
  add_comparison_output(command, options->output, common);
  command.run([&common, options] { return judge_tables(*options, common); });
}

}  // namespace ffn::app
