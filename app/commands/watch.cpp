// ffn-train watch DIR...: the page of `report`, served on this machine while the runs go on.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "../commands.hpp"
#include "../compare_question.hpp"
#include "../render_aside.hpp"
#include "../report_facts.hpp"
#include "../signals.hpp"
#include "ffn/base/hash.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/suggest.hpp"
#include "ffn/base/utf8.hpp"
#include "ffn/report/fit.hpp"
#include "ffn/report/html.hpp"
#include "ffn/report/page.hpp"
#include "ffn/report/server.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/store/study_file.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

// A study's file is there, and none of the runs that it lists.
bool waits_for_the_first_run(const std::vector<std::string>& names) {
  const auto places = find_run_places({names.begin(), names.end()});
  return places.there.empty() && !places.missing.empty();
}

/// How much of the runs was done when watching began: from there on time counts.
struct Beginning {
  Clock::time_point at;
  double done;
};

std::string drawn_page(const CompareQuestion& question, std::uint64_t version, std::optional<Beginning>& beginning) {
  if (waits_for_the_first_run(question.directories))
    return pictures::waiting_page(facts_of({}, {question.directories.begin(), question.directories.end()}), version);
  const auto report = make_report(question);
  auto& facts = report->facts;
  if (!beginning) beginning = {Clock::now(), facts.done};
  const double since = facts.done - beginning->done;
  if (since > 0)
    facts.seconds_left =
        std::chrono::duration<double>(Clock::now() - beginning->at).count() / since * (static_cast<double>(facts.num_runs) - facts.done);
  return pictures::page(report->comparison, report->figures, facts, version);
}

// Other than before where a run has begun, gone on or ended, or a study has grown.
std::string state_of(const std::vector<std::string>& names) {
  std::string all;
  const auto add = [&](const fs::path& file) {
    std::error_code none;
    const auto size = fs::file_size(file, none);
    all += none ? "-" : std::to_string(size) + "@" + std::to_string(fs::last_write_time(file, none).time_since_epoch().count());
    all += '\n';
  };
  std::set<fs::path> studies;
  const auto places = find_run_places({names.begin(), names.end()});
  for (const auto& run : places.there) {
    all += run.string() + "\n";
    const RunDirectory files(run);
    for (const auto& file : {files.record_path(), files.metrics_path()}) add(file);
    studies.insert(run.parent_path().parent_path());
  }
  for (const auto& study : studies) {  // not the file's time: the page itself is recorded there as a look
    try {
      const auto file = read_study_file(study);
      if (file) all += std::to_string(file->seeds.size()) + " seeds, " + std::to_string(file->variants.size()) + " variants\n";
    } catch (const Error& error) {
      all += std::string(error.what()) + "\n";
    }
  }
  return sha256_hex(all + std::to_string(places.missing.size()));
}

/// The page as it was drawn last, drawn anew while somebody looks at it.
class Page {
 public:
  Page(const CompareQuestion& question, serve::Server& server)
      : question_(question),
        server_(server),
        state_(state_of(question.directories)),
        html_(drawn_page(question, version_, beginning_)),
        policy_(pictures::served_policy()) {}

  serve::Response respond(const std::string& path, const std::string& query) {
    if (path != "" && path != "state") return {404};
    asked_ = Clock::now();
    if (path == "") return {200, "text/html; charset=utf-8", html_, policy_};
    if (query == "v=" + std::to_string(version_) && complaint_.empty()) return {304};
    Json state = {{"version", version_}};
    if (!complaint_.empty()) state["problem"] = printable(complaint_);
    return {200, "application/json", dump_json(state), ""};
  }

  /// Draws when there is news for somebody. What it costs stays below a twentieth of the time.
  void look() {
    if (renderer_.is_working()) return take();
    const auto now = Clock::now();
    if (now - asked_ > kPatience || now < next_look_) return;
    const std::string state = current_state();
    next_look_ = now + std::max<Clock::duration>(kLeastPause, 20 * (Clock::now() - now));
    if (state.empty()) return;
    if (state == state_) return complaint_.clear();
    coming_state_ = state;
    started_ = Clock::now();
    try {
      if (!beginning_) beginning_ = {started_, 0};  // the first run has begun
      renderer_.start([this] { server_.leave(); }, [this] { return drawn_page(question_, version_ + 1, beginning_); });
    } catch (const SystemError& error) {  // no process or descriptor is to be had now: the next look tries again
      complain(error.what());
    }
  }

  bool is_drawing() const { return renderer_.is_working(); }

 private:
  static constexpr std::chrono::seconds kPatience{30}, kLeastPause{2};

  std::string current_state() {
    try {
      return state_of(question_.directories);
    } catch (const ReadError& error) {
      complain(error.what());
    } catch (const Error& error) {
      complain(error.what());
    }
    return "";
  }

  void take() {
    const auto result = renderer_.poll();
    if (!result) return;
    next_look_ = Clock::now() + std::max<Clock::duration>(kLeastPause, 20 * (Clock::now() - started_));
    if (!result->text) return complain(result->error);  // a file in the middle of a change: it is looked at again
    html_ = *result->text;
    state_ = coming_state_;
    ++version_;
    complaint_.clear();
  }

  void complain(const std::string& what) {
    if (what != complaint_) log_warning("the page stays as it was: " + what);
    complaint_ = what;
  }

  const CompareQuestion& question_;
  serve::Server& server_;
  std::uint64_t version_ = 1;
  std::optional<Beginning> beginning_;
  std::string state_, html_, policy_, coming_state_, complaint_;
  Clock::time_point asked_{}, next_look_{}, started_{};
  RenderAside renderer_;
};

int watch(const CompareQuestion& question, const CommonOptions& common) {
  serve::Server server;
  Page page(question, server);
  handle_end_signals();
  if (common.json) print_json({{"address", server.address()}});
  else std::cout << server.address() << "\n";
  std::cout.flush();
  if (waits_for_the_first_run(question.directories)) log_info("no run has begun yet; the page waits for the first one");
  log_info("the report of " + join(question.directories) +
           " as it grows, for browsers on this machine; whoever has the address can read it. Ctrl-C ends it");
  const auto site = [&](const std::string& path, const std::string& query) { return page.respond(path, query); };
  while (!stop_requested()) {
    server.serve(site, std::chrono::milliseconds(page.is_drawing() ? 50 : 500));
    page.look();
  }
  return 0;
}

}  // namespace

void add_watch(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("watch", "the page of report, kept up to date in the browser while runs go on");
  auto question = std::make_shared<CompareQuestion>();
  add_question_options(command, *question);
  add_output_options(command, common);
  command.run([&common, question] { return watch(*question, common); });
}

}  // namespace ffn::app
