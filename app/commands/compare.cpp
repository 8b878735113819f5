// ffn-train compare DIR...: which variant is better and how surely, from run directories.
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../compare_text.hpp"
#include "ffn/compare/compare_json.hpp"
#include "ffn/core/files.hpp"
#include "ffn/core/utf8.hpp"

namespace ffn::app {

namespace {

struct Options {
  std::vector<std::string> directories;
  CompareRequest request;
  bool markdown = false, csv = false;
  std::string fail_if;
};

bool any_verdict(const Comparison& comparison, stats::Verdict verdict) {
  for (const auto& facet : comparison.facets) {
    for (const auto& pair : facet.pairs) {
      if (pair.judgement.verdict == verdict) return true;
    }
  }
  return false;
}

// Null where there is none: study.json may have been changed by hand.
Json member(const Json& object, const char* key) { return object.is_object() && object.contains(key) ? object[key] : Json(); }

// What one study says about its own comparison (study.json), where the command line does not say otherwise.
void ask_study(const std::filesystem::path& directory, CompareRequest& request) {
  const auto file = directory / "study.json";
  if (!path_exists(file)) return;
  const Json study = parse_json(read_file(file, "study", ExitCode::data, 1 << 26));
  const Json compare = member(member(study, "document"), "compare");
  const auto say = [&](const char* key, std::string& value) {
    const Json found = member(compare, key);
    if (value.empty() && found.is_string()) value = found.get<std::string>();
  };
  const bool own_by = request.config.by.empty();
  say("by", request.config.by);
  say("metric", request.config.metric);
  if (own_by) say("reference", request.config.reference);
  const Json variants = member(study, "variants");
  if (!request.config.by.empty() || !variants.is_array() || variants.empty()) return;
  const Json assignments = member(variants[0], "assignments");
  if (assignments.is_object() && !assignments.empty()) request.config.by = assignments.begin().key();
}

int compare(const Options& options, const CommonOptions& common) {
  std::vector<std::filesystem::path> directories(options.directories.begin(), options.directories.end());
  auto request = options.request;
  if (directories.size() == 1) ask_study(directories[0], request);
  const auto found = find_runs(directories);
  if (found.runs.empty() && !found.left_out.empty())
    throw DataError("no run is whole: " + found.left_out[0], "`ffn-train check` says what is wrong with each");
  auto comparison = compare_runs(found.runs, request);
  for (auto& note : notes_about(found)) comparison.notes.push_back(std::move(note));
  if (common.json) print_json(comparison_json(comparison));
  else {
    const auto form = options.markdown ? TableForm::markdown : options.csv ? TableForm::csv : TableForm::terminal;
    const auto text = comparison_text(comparison, form, color_enabled(color_mode(common), 1), is_terminal(1) ? terminal_width_of(1) : 0);
    std::cout << (form == TableForm::csv ? text : printable(text, /*keep_colors=*/true));
  }
  const bool undecided = any_verdict(comparison, stats::Verdict::undecided) || any_verdict(comparison, stats::Verdict::too_few_seeds);
  const bool failed =
      (options.fail_if == "worse" && any_verdict(comparison, stats::Verdict::worse)) || (options.fail_if == "undecided" && undecided);
  return static_cast<int>(failed ? ExitCode::condition : ExitCode::done);
}

}  // namespace

void add_compare(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("compare", "which variant is better, and how surely");
  auto options = std::make_shared<Options>();
  auto& asked = options->request.config;
  command.option("directories", options->directories, "studies or runs").required().type("DIR...");
  command.option("--by", asked.by, "key whose values are compared; the first that varies otherwise").type("KEY");
  command.option("--metric", asked.metric, "a logged metric, steps_to_target, flops_to_target or seconds_to_target").type("NAME");
  command.option("--reference", asked.reference, "value that the others are compared with; the first otherwise").type("VALUE");
  command.option("--alpha", asked.alpha, "chance of a wrong verdict over all comparisons").real_in(1e-6, 0.49).shows_default();
  command.option("--min-effect", asked.min_effect, "smallest difference that matters, in the metric's units").non_negative();
  const auto markdown = command.flag("--markdown", options->markdown, "tables in Markdown");
  command.flag("--csv", options->csv, "tables as CSV").excludes(markdown);
  command.option("--fail-if", options->fail_if, "exit with 5 if any verdict is this").one_of({"worse", "undecided"}).type("VERDICT");
  add_output_options(command, common);
  command.run([&common, options] { return compare(*options, common); });
}

}  // namespace ffn::app
