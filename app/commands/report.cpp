// ffn-train report DIR...: a comparison with its charts, as one HTML file.
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
#include "ffn/base/text.hpp"
#include "ffn/base/version.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/html.hpp"
#include "ffn/report/search.hpp"
#include "ffn/study/search.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct ReportOptions {
  CompareQuestion question;
  std::string out;
  bool open = false;
};

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

void put_page(const std::string& html, const fs::path& path, const std::string& runs, const ReportOptions& options,
              const CommonOptions& common) {
  const NamedFile page(path, {"report", report::kPageMark}, options.out.empty() ? Chosen::by_program : Chosen::by_person);
  page.write(html);
  if (!common.json && !page.is_stdout())
    print_text(printable(path.string()) + " (" + format_bytes(static_cast<double>(html.size())) + ", " + runs + ")");
  std::cout.flush();
  if (options.open) open_in_browser(path);
}

int write_search_page(const fs::path& found, const ReportOptions& options, const CommonOptions& common) {
  const Json search = parse_json(read_file(found, "search", ExitCode::data, 256 << 20));
  if (!search.is_object() || !search.contains("races"))
    throw DataError(found.string() + " is damaged", "the search's own command writes it again");
  const std::string html = [&] {
    try {
      return search_page(search, kVersion, utc_now());
    } catch (const Json::exception&) {
      throw DataError(found.string() + " is damaged", "the search's own command writes it again");
    }
  }();
  const fs::path path = options.out.empty() ? found.parent_path() / "report.html" : fs::path(expand_home(options.out));
  const auto layers = search["races"]["layers"].get<std::size_t>();
  put_page(html, path, format_counted(layers, "layer"), options, common);
  if (common.json) print_json({{"report", path.string()}, {"bytes", html.size()}, {"layers", layers}});
  return static_cast<int>(ExitCode::done);
}

int write_report(const ReportOptions& options, const CommonOptions& common) {
  if (const fs::path found = fs::path(options.question.directories.at(0)) / kSearchFile;
      options.question.directories.size() == 1 && path_exists(found))
    return write_search_page(found, options, common);
  if (directory_exists(fs::path(options.question.directories.at(0)) / kRaces) && options.question.directories.size() == 1)
    throw DataError(options.question.directories[0] + " is a search that has not ended",
                    "its own command goes on; its parts are studies, below it");
  auto parts = progress_options("report", kReportParts, common);
  parts.unit = "part";
  ProgressBar bar(parts);
  const auto report = make_report(options.question, [&](int part) { bar.update(part); });
  const auto& facts = report->facts;
  const fs::path path = options.out.empty() ? report_path(options.question) : fs::path(expand_home(options.out));
  const std::string html = export_html(report->comparison, report->data, facts);
  bar.finish();
  put_page(html, path, format_counted(facts.num_runs, "run"), options, common);
  if (common.json) print_json({{"report", path.string()}, {"bytes", html.size()}, {"runs", facts.num_runs}});
  return static_cast<int>(ExitCode::done);
}

}  // namespace

void add_report(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("report", "a comparison with its charts, as one HTML file");
  auto options = std::make_shared<ReportOptions>();
  add_question_options(command, options->question);
  command.option("-o,--out", options->out, "the file to write; report.html in DIR otherwise, or here where there are several").type("FILE");
  command.flag("--open", options->open, "show it in the browser");
  add_output_options(command, common);
  command.run([&common, options] {
    to_named_directories(options->question.directories);
    return write_report(*options, common);
  });
}

}  // namespace ffn::app
