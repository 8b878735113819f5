// ffn-train compare DIR...: which variant is better and how surely, from run directories.
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "../commands.hpp"
#include "../compare_question.hpp"
#include "../comparison_output.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/each.hpp"
#include "ffn/report/export.hpp"

namespace ffn::app {

namespace {

// --fail-if; undecided takes in too few seeds.
bool has_verdict(const Comparison& comparison, const std::string& word) {
  bool found = false;
  for_each_pair(comparison, [&](const Facet&, const PairResult& pair) {
    const auto verdict = pair.judgement.verdict == stats::Verdict::too_few_seeds ? stats::Verdict::undecided : pair.judgement.verdict;
    found = found || stats::to_string(verdict) == word;
  });
  return found;
}

std::string exported(const Comparison& comparison, const ComparisonOutput& options, const CommonOptions& common) {
  if (common.json) return export_json(comparison);
  if (options.csv) return export_csv(comparison);
  if (options.latex) return export_latex(comparison);
  if (options.markdown) return export_markdown(comparison, options.explain);
  return export_terminal(
      comparison, {options.details, options.explain, color_enabled(color_mode(common), STDOUT_FILENO), terminal_width_of(STDOUT_FILENO)});
}

}  // namespace

int show_comparison(const Comparison& comparison, const ComparisonOutput& options, const CommonOptions& common) {
  const auto text = exported(comparison, options, common);
  std::cout << (common.json || options.csv ? text : printable(text, /*keep_colors=*/true));
  return static_cast<int>(has_verdict(comparison, options.fail_if) ? ExitCode::condition : ExitCode::done);
}

void add_comparison_output(CommandLine command, ComparisonOutput& output, CommonOptions& common) {
  command.flag("--details", output.details, "also everything that the verdicts rest on: tests, p values, costs");
  command.flag("--explain", output.explain, "also what the words mean");
  const auto markdown = command.flag("--markdown", output.markdown, "tables in Markdown");
  const auto csv = command.flag("--csv", output.csv, "tables as CSV").excludes(markdown);
  const auto latex = command.flag("--latex", output.latex, "the table in LaTeX (booktabs)").excludes(markdown).excludes(csv);
  command.option("--fail-if", output.fail_if, "exit with 5 if any verdict is this; undecided takes in too few seeds")
      .one_of({stats::to_string(stats::Verdict::worse), stats::to_string(stats::Verdict::undecided)})
      .type("VERDICT");
  add_output_options(command, common).excludes(markdown).excludes(csv).excludes(latex);
}

void add_compare(CommandLine program, CommonOptions& common) {
  struct Flags {
    CompareQuestion question;
    ComparisonOutput output;
  };
  auto command = program.subcommand("compare", "which variant is better, and how surely");
  auto flags = std::make_shared<Flags>();
  add_question_options(command, flags->question);
  add_comparison_output(command, flags->output, common);
  command.run([&common, flags] { return show_comparison(answer_to(flags->question), flags->output, common); });
}

}  // namespace ffn::app
