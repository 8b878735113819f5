// ffn-train export DIR...: runs as tables for other programs.
#include "ffn/report/export.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../compare_question.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/run_keys.hpp"
#include "ffn/report/export_runs.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct ExportOptions {
  std::vector<std::string> directories;
  std::string out;
  bool csv = false, all = false;
};

// Beside the runs, as a report; here where there are several places.
fs::path out_directory(const ExportOptions& options) {
  if (!options.out.empty()) return options.out;
  return options.directories.size() == 1 ? fs::path(options.directories[0]) : fs::path(".");
}

// The answer of one study, as `compare DIR --csv` prints it; nothing for other runs, and where there is nothing to compare.
std::optional<std::string> answer_csv(const ExportOptions& options) {
  if (options.directories.size() != 1 || options.all || !has_study_file(options.directories[0])) return std::nullopt;
  CompareQuestion question;
  question.directories = options.directories;
  try {
    return export_csv(answer_to(question));
  } catch (const Error& error) {
    log_info(std::string("no compare.csv: ") + error.what());
    return std::nullopt;
  }
}

int export_runs(const ExportOptions& options, const CommonOptions& common) {
  auto selection =
      exports::select_runs({options.directories.begin(), options.directories.end()}, options.all ? Extras::include : Extras::leave_out);
  const auto out = out_directory(options);
  Json report = {{"runs", selection.runs.size()}};
  std::string text;
  const fs::path path = out / "compare.csv";
  const auto answer = answer_csv(options);
  const auto file = answer ? std::optional(NamedFile(path, kAnswerTable, Chosen::by_program)) : std::nullopt;
  const auto files = exports::write_csv(selection, out, selection.notes);
  report["csv"] = {{"runs", files.runs.string()}, {"curves", files.curves.string()}, {"curve_rows", files.num_curve_rows}};
  text += files.runs.string() + ": a row for each run, " + format_count(selection.runs.size()) + "\n" + files.curves.string() +
          ": a row for each run, step and metric, " + format_count(files.num_curve_rows) + "\n";
  if (file) {
    file->write(*answer);
    report["csv"]["compare"] = path.string();
    text += path.string() + ": verdicts and the answer, a row for each variant\n";
  }
  for (const auto& note : selection.notes) log_warning(note);
  report["notes"] = selection.notes;
  if (common.json) print_json(report);
  else print_text(printable(text));
  return 0;
}

}  // namespace

void add_export(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("export", "write tables for other programs: runs.csv, curves.csv and, for a study, compare.csv");
  auto options = std::make_shared<ExportOptions>();
  command.option("directories", options->directories, "studies or runs").required().type("DIR...");
  command.flag("--csv", options->csv, "CSV, the one format; may be left out");
  command.option("-o,--out", options->out, "where to; DIR otherwise, or here where there are several").type("DIR").directory();
  command.flag("--all", options->all, "also runs that lie in a study's directory and are no part of it");
  add_output_options(command, common);
  command.run([&common, options] {
    to_named_directories(options->directories);
    return export_runs(*options, common);
  });
}

}  // namespace ffn::app
