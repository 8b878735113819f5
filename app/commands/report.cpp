// ffn-train report DIR...: a comparison as one HTML file, and its pictures as files of their own.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../compare_question.hpp"
#include "../report_facts.hpp"
#include "../train.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/report/charts.hpp"
#include "ffn/report/exporter.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/html.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct ReportOptions {
  CompareQuestion question;
  std::string out, figures;
  bool open = false;
};

struct NamedFigure {
  NamedFile file;
  std::string path, content;
};

// Nothing is written yet: what cannot be is found before the page is there.
std::vector<NamedFigure> figure_files(const fs::path& directory, const Comparison& comparison, std::vector<pictures::Figure> figures) {
  if (auto intervals = pictures::interval_figure(comparison)) figures.insert(figures.begin(), std::move(*intervals));
  std::vector<NamedFigure> out;
  const auto add = [&](const pictures::File& file, const char* what) {
    const fs::path path = directory / file.name;
    out.push_back({NamedFile(path, {what, pictures::kFileMark}, Chosen::by_program), path.string(), file.content});
  };
  for (const auto& figure : figures) {
    for (const auto& file : pictures::svg_files(figure)) add(file, "picture");
  }
  add({"table.tex", LatexExporter().write(comparison)}, "table");
  return out;
}

// With what the desktop has for it. The browser outlives this program.
void open_in_browser(const fs::path& path) {
  const std::string file = absolute_path(path).string();
  std::string command = "xdg-open";
  char* const argv[] = {command.data(), const_cast<char*>(file.c_str()), nullptr};
  pid_t child = 0;
  int status = 0;
  const bool opened = ::posix_spawnp(&child, "xdg-open", nullptr, nullptr, argv, environ) == 0 && ::waitpid(child, &status, 0) == child &&
                      WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!opened)
    throw SystemError("cannot open " + path.string() + ": xdg-open is not there or found no browser",
                      "the report is written; open the file yourself");
}

int write_report(const ReportOptions& options, const CommonOptions& common) {
  auto parts = progress_options("report", kReportParts, common);
  parts.unit = "part";
  ProgressBar bar(parts);
  const auto report = make_report(options.question, [&](int part) { bar.update(part); });
  const auto& facts = report->facts;
  const fs::path path = options.out.empty() ? report_path(options.question) : fs::path(expand_home(options.out));
  const std::string html = HtmlExporter(report->figures, facts).write(report->comparison);
  bar.finish();
  const NamedFile page(path, {"report", pictures::kPageMark}, options.out.empty() ? Chosen::by_program : Chosen::by_person);
  std::vector<NamedFigure> pictures;
  if (!options.figures.empty()) pictures = figure_files(expand_home(options.figures), report->comparison, report->figures);
  page.write(html);
  std::vector<std::string> files;
  if (!pictures.empty()) make_directories(expand_home(options.figures));
  for (const auto& picture : pictures) {
    picture.file.write(picture.content);
    files.push_back(picture.path);
  }

  if (common.json) print_json({{"report", path.string()}, {"bytes", html.size()}, {"runs", facts.num_runs}, {"figures", files}});
  else if (!page.is_stdout()) {
    print_text(printable(path.string()) + " (" + format_bytes(static_cast<double>(html.size())) + ", " +
               format_counted(facts.num_runs, "run") + ")");
    if (!files.empty())
      print_text(printable(options.figures) + ": " + std::to_string(files.size() - 1) + " pictures as SVG, and table.tex");
  }
  std::cout.flush();
  if (options.open) open_in_browser(path);
  return static_cast<int>(ExitCode::done);
}

}  // namespace

void add_report(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("report", "a comparison with its pictures, as one HTML file");
  auto options = std::make_shared<ReportOptions>();
  add_question_options(command, options->question);
  command.option("-o,--out", options->out, "the file to write; report.html in DIR otherwise, or here where there are several").type("FILE");
  command.option("--figures", options->figures, "also every picture as SVG, and the table in LaTeX").type("DIR").directory();
  command.flag("--open", options->open, "show it in the browser");
  add_output_options(command, common);
  command.run([&common, options] {
    to_named_directories(options->question.directories);
    return write_report(*options, common);
  });
}

}  // namespace ffn::app
