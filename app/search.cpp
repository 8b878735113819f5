// A search from the command line: from its plan to what it found.
#include "ffn/report/search.hpp"

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ffn/base/cores.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/base/text.hpp"
#include "ffn/compare/note.hpp"
#include "ffn/report/format.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/needs.hpp"
#include "ffn/study/search.hpp"
#include "ffn/study/search_layers.hpp"
#include "load_config.hpp"
#include "next_command.hpp"
#include "plan_estimate.hpp"
#include "study_display.hpp"
#include "train.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// "facts train.steps=400": a config with changes behind its name, none of which has blanks; a path is relative to the search's own file.
Document task_document(const std::string& written, const std::string& directory) {
  std::istringstream in(written);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  if (words.empty()) throw UsageError("search: a task is a blank", "name a config, such as \"facts\"");
  std::string config = words[0];
  if (const fs::path beside = fs::path(directory) / config; path_exists(beside) && !directory_exists(beside)) config = beside.string();
  return load_with_overrides(config, {words.begin() + 1, words.end()});
}

SearchRequest request_of(const Document& document, const TrainOptions& options, const CommonOptions& common) {
  SearchRequest request;
  request.study = study_request(options, common);
  request.load = [directory = document.origin("/search").directory](const std::string& task) { return task_document(task, directory); };
  return request;
}

/// A line for each generation; the judgement is shown as any study is.
class SearchDisplay final : public SearchObserver {
 public:
  explicit SearchDisplay(const CommonOptions& common) : study_("", common) {}
  StudyObserver& races() override { return silent_; }
  StudyObserver& judgement() override { return study_; }
  void raced(const RaceProgress& p) override {
    log_info("generation " + format_count(p.generation) + ": " + format_counted(p.layers, "layer") + " raced, " + format_count(p.to_judge) +
             " to the end, " + p.best + " ahead; " + format_share(std::min(1.0, p.share)) + " of the budget");
  }

 private:
  StudyObserver silent_;
  StudyDisplay study_;
};

void print_search(const Json& found, const fs::path& directory, const CommonOptions& common) {
  if (common.json) return print_json(found);
  if (const auto question = found["question"].get<std::string>(); !question.empty()) print_text(question, 0);
  print_text(join(search_sentences(found), "\n"));
  std::cout << "\n";
  if (!found["judgement"].empty()) {
    print_table(search_verdicts(found), common);
    std::cout << "\n";
    print_table(search_front(found), common);
    print_text("\nthe best by its races' ranks:\n  " + join(family_of_best(found), "\n  from "));
  }
  std::cout.flush();
  log_info("results: " + directory.string() + "    more: ffn-train report " + shell_word(directory.string()));
}

}  // namespace

int train_search(const Document& document, const std::string& source, const TrainOptions& options, const CommonOptions& common) {
  if (!options.budget.empty())
    throw UsageError("a search takes no --budget", "ffn-train plan says what it would do; search.budget bounds its races");
  const LayerSearch search = read_search(document, source);
  if (options.dry_run) return print_json(document.tree()), 0;
  const auto request = request_of(document, options, common);
  if (options.fast_dev_run > 0) {
    for (const auto& study : ffn::plan_search(search, request).judgement)
      for (const auto& variant : study.variants) fast_dev_run(variant.config, options.fast_dev_run, common);
    return 0;
  }
  SearchDisplay display(common);
  const fs::path directory = request.study.out / search.name;
  if (options.fresh) rename_results(directory, display.judgement());
  const auto outcome = run_search(search, request, display);
  if (!outcome.document->is_null()) {
    print_search(*outcome.document, directory, common);
    return static_cast<int>(ExitCode::done);
  }
  if (outcome.unfinished.interrupted) {
    say_how_to_go_on(common);
    return static_cast<int>(ExitCode::interrupted);
  }
  log_error(format_counted(outcome.unfinished.failed.size(), "run") + " failed (see their run.json); the same command tries them again");
  return static_cast<int>(ExitCode::partial);
}

void check_search(const Document& document, const std::string& source) {
  ffn::plan_search(read_search(document, source), request_of(document, {}, {}));
}

int plan_search(const Document& document, const std::string& source, bool probe, const CommonOptions& common) {
  const LayerSearch search = read_search(document, source);
  const auto plan = ffn::plan_search(search, request_of(document, {}, common));
  const auto cost_of = [&](const std::vector<Study>& studies) {
    PlanEstimate sum;
    double seconds = 0;
    for (const auto& study : studies) {
      const Plan runs = make_plan(study, fs::path(common.out) / (search.name + "-as-if-new"));
      auto found = counted(runs, job_count(common.jobs, study));
      if (probe) measure(runs, found);
      sum.runs += found.runs * (study.tune ? 1 + study.tune->num_points() : 1);
      sum.flops += found.flops * static_cast<double>(study.tune ? 1 + study.tune->num_points() : 1);
      seconds += found.seconds.value_or(0) * static_cast<double>(study.tune ? 1 + study.tune->num_points() : 1);
      sum.workers = std::max(sum.workers, found.workers);
    }
    if (probe) sum.seconds = seconds;
    return sum;
  };
  const auto race = cost_of(plan.first_round), judgement = cost_of(plan.judgement);
  // Runs of all rounds, in those of the first: half of the layers go on each time, at one rate.
  const auto seeds = race_rounds(search.config);
  double rounds = 1, share = 1 / static_cast<double>(search.config.rates->size());
  for (std::size_t r = 1; r < seeds.size(); ++r)
    rounds += (share /= 2) * static_cast<double>(seeds[r] - seeds[r - 1]) / static_cast<double>(seeds[0]);
  const double flops = rounds * race.flops;
  const auto training_seconds =
      race.seconds ? std::optional<double>(rounds * *race.seconds * static_cast<double>(race.workers)) : std::nullopt;
  std::optional<double> generations;
  if (const auto budget = search.config.budget_seconds(); !budget) generations = search.config.budget_flops() / flops;
  else if (training_seconds) generations = *budget / *training_seconds;
  if (common.json) {
    print_json(
        {{"name", search.name},
         {"layers_per_generation", plan.layers},
         {"generation",
          {{"runs", std::llround(rounds * static_cast<double>(race.runs))},
           {"flops", flops},
           {"seconds", race.seconds ? Json(rounds * *race.seconds) : Json()}}},
         {"generations", generations ? Json(std::ceil(*generations)) : Json()},
         {"judgement",
          {{"runs", judgement.runs}, {"flops", judgement.flops}, {"seconds", judgement.seconds ? Json(*judgement.seconds) : Json()}}}});
    return 0;
  }
  const auto time = [](const std::optional<double>& seconds) { return seconds ? ", about " + format_duration(*seconds) : std::string(); };
  print_text("a generation: " + format_counted(plan.layers, "layer") + ", about " +
             format_counted(static_cast<std::size_t>(rounds * static_cast<double>(race.runs)), "run") + ", " + format_short(flops) +
             " training FLOPs" + time(race.seconds ? std::optional<double>(rounds * *race.seconds) : std::nullopt));
  if (generations)
    print_text("the budget has room for about " + format_counted(static_cast<std::size_t>(std::ceil(*generations)), "generation") + ", " +
               format_counted(static_cast<std::size_t>(std::ceil(*generations)) * plan.layers, "layer"));
  print_text("judgement: at most " + format_counted(judgement.runs, "run") + ", tuning included, " + format_short(judgement.flops) +
             " training FLOPs" + time(judgement.seconds) +
             (search.config.sizes->empty() ? "" : "; larger sizes come on top where a layer proved better"));
  return 0;
}

}  // namespace ffn::app
