// ffn-train watch DIR...: the page of `report`, written again while the runs go on; a browser that shows it loads it again by itself.
#include <sys/resource.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "../commands.hpp"
#include "../compare_question.hpp"
#include "../report_facts.hpp"
#include "../signals.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/marked_names.hpp"
#include "ffn/base/named_file.hpp"
#include "ffn/base/text.hpp"
#include "ffn/report/export.hpp"
#include "ffn/report/html.hpp"
#include "ffn/store/log.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

/// How much of the runs was done when watching began: from there on time counts.
struct Beginning {
  Clock::time_point at;
  double done;
};

bool waits_for_first_run(const CompareQuestion& question) {
  const auto places = find_run_places({question.directories.begin(), question.directories.end()});
  return places.there.empty() && !places.missing.empty();
}

std::string drawn_page(const CompareQuestion& question, std::optional<Beginning>& beginning, bool live) {
  if (live && waits_for_first_run(question)) {
    beginning = {Clock::now(), 0};
    return report::waiting_page(facts_of({}, {question.directories.begin(), question.directories.end()}));
  }
  const auto report = make_report(question);
  auto& facts = report->facts;
  if (!beginning) beginning = {Clock::now(), facts.done};
  const double since = facts.done - beginning->done;
  if (since > 0)
    facts.seconds_left =
        std::chrono::duration<double>(Clock::now() - beginning->at).count() / since * (static_cast<double>(facts.num_runs) - facts.done);
  return export_html(report->comparison, report->data, facts, live);
}

// Sizes and times of the runs' files. A study's own file is left out: the page itself is recorded there as an earlier answer.
std::string state_of(const CompareQuestion& question) {
  std::string state;
  for (const auto& directory : question.directories) {
    if (!directory_exists(directory)) throw DataError("no directory " + directory);
    for (const auto& entry : fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied)) {
      const std::string name = entry.path().filename().string();
      std::error_code gone;
      if (name.rfind("study.json", 0) == 0 || entry.path().extension() == ".html" || !entry.is_regular_file(gone)) continue;
      state += entry.path().string() + " " + std::to_string(entry.file_size(gone)) + " " +
               std::to_string(entry.last_write_time(gone).time_since_epoch().count()) + "\n";
    }
  }
  return state;
}

int watch(const CompareQuestion& question, const CommonOptions& common) {
  const fs::path path = report_path(question);
  std::optional<Beginning> beginning;
  std::string state = state_of(question), html = drawn_page(question, beginning, /*live=*/true), complaint;
  const NamedFile page(path, {"report", report::kPageMark}, Chosen::by_program);
  page.write(html);
  handle_end_signals();
  ::setpriority(PRIO_PROCESS, 0, 10);  // the runs go first
  if (common.json) print_json({{"report", path.string()}});
  else print_text(printable(path.string()));
  std::cout.flush();
  log_info("the page is rewritten as runs go on, and a browser that shows it reloads. Ctrl-C ends this");
  // Looking and drawing take a twentieth of the time at most.
  const auto pause_after = [](Clock::time_point start) {
    const auto until = Clock::now() + std::max<Clock::duration>(std::chrono::seconds(2), 20 * (Clock::now() - start));
    while (!stop_requested() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  for (pause_after(Clock::now()); !stop_requested();) {
    const auto start = Clock::now();
    try {
      const std::string now = state_of(question);
      if (now != state) page.write(html = drawn_page(question, beginning, /*live=*/true));
      state = now;
      complaint.clear();
    } catch (...) {  // a file in the middle of a change, a directory that was moved: it is looked at again
      const std::string what = current_error().what();
      if (what != complaint) log_warning("the page stays as it was: " + what);
      complaint = what;
    }
    pause_after(start);
  }
  if (directory_exists(fs::absolute(path).parent_path())) page.write(report::without_reload(html));
  return 0;
}

}  // namespace

void add_watch(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("watch", "the page of report, kept up to date in the browser while runs go on");
  auto question = std::make_shared<CompareQuestion>();
  add_question_options(command, *question);
  add_output_options(command, common);
  command.run([&common, question] {
    to_named_directories(question->directories);
    return watch(*question, common);
  });
}

}  // namespace ffn::app
