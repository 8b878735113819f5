// ffn-train plan: what would run, what it costs, and what it could show. Trains nothing but a short probe.
#include <chrono>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../load_config.hpp"
#include "../train.hpp"
#include "ffn/engine/interface.hpp"
#include "ffn/record/log.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/table.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/study/train_cohort.hpp"
#include "ffn/train/engine.hpp"

namespace ffn::app {

namespace {

// Counts steps and stops after a while.
class Probe final : public TrainObserver {
 public:
  void evaluated(std::size_t, const Evaluation&) override {}
  void checkpointed(std::size_t, const Checkpoint&) override {}
  void finished(std::size_t, const RunResult&) override {}
  void stepped(std::int64_t step, double) override {
    const auto now = std::chrono::steady_clock::now();
    if (step == kWarmUp) began_ = now;
    if (step > kWarmUp) seconds_per_step_ = std::chrono::duration<double>(now - began_).count() / static_cast<double>(step - kWarmUp);
    stop_ = step > kWarmUp && std::chrono::duration<double>(now - began_).count() > 0.15;
  }
  bool stop_requested() override { return stop_; }
  double seconds_per_step() const { return seconds_per_step_; }

 private:
  static constexpr std::int64_t kWarmUp = 3;
  std::chrono::steady_clock::time_point began_;
  double seconds_per_step_ = 0;
  bool stop_ = false;
};

double probe_seconds(const Plan& plan, const PlannedCohort& cohort) {
  Cohort probe;
  for (const auto index : cohort) {
    probe.runs.push_back(plan.runs[index].config);
    auto& train = probe.runs.back().train;
    train.checkpoint_every = train.steps + 1;
  }
  Probe observer;
  cpu_engine().train(probe, observer);
  const auto& train = probe.runs[0].train;
  const double evaluations = static_cast<double>(train.steps) / static_cast<double>(train.eval_every) + 2;
  // An evaluation costs about a third of the steps that see as many examples: forward without backward.
  const double examples = static_cast<double>(train.eval_examples) / static_cast<double>(train.batch_size);
  return observer.seconds_per_step() * (static_cast<double>(train.steps) + evaluations * std::min(examples, 64.0) / 3);
}

std::string counted(std::size_t n, const char* what) {
  return format_count(static_cast<std::int64_t>(n)) + " " + what + (n == 1 ? "" : "s");
}

struct Line {
  const Variant* variant;
  std::size_t runs = 0, finished = 0;
  ModelCost cost;
};

// What remains on disk of one run: weights, metrics, and small files. A checkpoint exists while it trains.
double disk_bytes(const RunConfig& config, const Cost& cost) {
  const double evaluations = static_cast<double>(config.train.steps) / static_cast<double>(config.train.eval_every) + 1;
  return 4.0 * static_cast<double>(cost.parameters) + 260.0 * evaluations + 6000.0;
}

}  // namespace

static int plan_study(const CommonOptions& common, bool probe) {
  set_up_log({common.verbosity, color_enabled(color_mode(common), 2), nullptr, {}});
  auto document = load_with_overrides(common.config, common.overrides);
  if (!is_study(document)) document.tree()["seeds"] = 1;
  const Plan plan = make_plan(read_study(document, common.config), common.out);

  std::vector<Line> lines;
  for (const auto& variant : plan.study.variants)
    lines.push_back({&variant, 0, 0, model_cost(variant.config.model, task_shape(variant.config.task))});
  std::vector<std::size_t> pending;
  double bytes = 0, flops = 0;
  for (std::size_t i = 0; i < plan.runs.size(); ++i) {
    const auto& run = plan.runs[i];
    auto& line = lines[run.variant];
    ++line.runs;
    const bool finished = progress_of(run) == Progress::finished;
    line.finished += finished;
    bytes += disk_bytes(run.config, line.cost.total);
    const auto shape = task_shape(run.config.task);
    if (!finished)
      flops += 3.0 * static_cast<double>(line.cost.total.flops * run.config.train.batch_size * shape.sequence_length) *
               static_cast<double>(run.config.train.steps);
    if (!finished) pending.push_back(i);
  }
  const auto jobs = job_count(common);
  const auto cohorts = make_cohorts(plan, pending, jobs);
  double seconds = 0;
  if (probe) {
    std::map<std::string, double> known;  // cohorts of one shape and size cost the same
    for (const auto& cohort : cohorts) {
      const std::string key = cohort_key(plan.runs[cohort[0]].config) + "×" + std::to_string(cohort.size());
      if (!known.count(key)) known[key] = probe_seconds(plan, cohort);
      seconds += known[key];
    }
    seconds /= static_cast<double>(std::min(jobs, std::max<std::size_t>(1, cohorts.size())));
  }
  const auto n = plan.study.seeds.size();
  const std::size_t comparisons = std::max<std::size_t>(1, plan.study.variants.size() - 1);
  const double detectable = n >= 2 ? stats::smallest_detectable_difference(n, 1.0) : NAN;

  if (common.json) {
    Json variants = Json::array();
    for (const auto& line : lines) {
      variants.push_back({{"name", line.variant->name},
                          {"runs", line.runs},
                          {"finished", line.finished},
                          {"parameters", line.cost.total.parameters},
                          {"active_parameters", line.cost.total.active_parameters},
                          {"flops_per_token", line.cost.total.flops}});
      if (const auto* size = matched_size(*line.variant)) variants.back()["mismatch"] = size->mismatch;
    }
    Json out = {{"name", plan.study.name},
                {"runs", plan.runs.size()},
                {"pending", pending.size()},
                {"cohorts", cohorts.size()},
                {"seeds", n},
                {"variants", variants},
                {"train_flops", flops},
                {"disk_bytes", bytes},
                {"jobs", jobs}};
    out["seconds"] = probe ? Json(seconds) : Json(nullptr);
    out["smallest_detectable_difference_sd"] = n >= stats::seeds_for_any_verdict(0.05, comparisons) ? Json(detectable) : Json(nullptr);
    std::cout << dump_json(out, 2) << "\n";
    return 0;
  }
  const bool matched = std::any_of(lines.begin(), lines.end(), [](const Line& line) { return matched_size(*line.variant) != nullptr; });
  std::vector<Column> columns = {{"variant", Align::left},     {"runs", Align::right},      {"finished", Align::right},
                                 {"parameters", Align::right}, {"ffn width", Align::right}, {"FLOPs/token", Align::right}};
  if (matched) columns.push_back({"mismatch", Align::right});
  Table table(columns);
  for (const auto& line : lines) {
    const auto d_model = line.variant->config.model.d_model;
    const std::string width = std::visit(
        [&](const auto& ffn) -> std::string {
          if constexpr (std::is_base_of_v<FfnSize, std::decay_t<decltype(ffn)>>) return format_count(ffn.hidden_width(d_model));
          return "-";
        },
        line.variant->config.model.ffn);
    std::vector<std::string> row = {line.variant->name,
                                    format_count(static_cast<std::int64_t>(line.runs)),
                                    format_count(static_cast<std::int64_t>(line.finished)),
                                    format_count(line.cost.total.parameters),
                                    width,
                                    format_count(line.cost.total.flops)};
    const auto* size = matched_size(*line.variant);
    if (matched) row.push_back(size ? (size->mismatch > 0 ? "+" : "") + format_percent(size->mismatch, 2) : "-");
    table.add_row(row);
  }
  std::cout << table.terminal_text(color_enabled(color_mode(common), 1)) << "\n"
            << counted(plan.runs.size(), "run") << ", " << pending.size() << " to train in " << counted(cohorts.size(), "cohort") << " on "
            << counted(jobs, "worker") << "; " << format_short(flops) << " training FLOPs; " << format_bytes(bytes) << " on disk\n";
  if (probe && !pending.empty()) std::cout << "time, from a short probe of each cohort: about " << format_duration(seconds) << "\n";
  if (plan.study.variants.size() < 2) return 0;
  const auto needed = stats::seeds_for_any_verdict(0.05, comparisons);
  if (n < needed)
    std::cout << n << " seeds allow no verdict at 5 % over " << comparisons << " comparisons; at least " << needed << " are needed\n";
  else
    std::cout << n << " seeds detect a difference of " << format_significant(detectable, 2)
              << " standard deviations of the paired differences (one comparison, 5 %, power 80 %)\n";
  return 0;
}

void add_plan(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("plan", "what would run: runs, parameters, FLOPs, time, disk; trains nothing");
  auto no_probe = std::make_shared<bool>(false);
  command.option("--config", common.config, "config or study").required().type("FILE");
  command.option("overrides", common.overrides, "key=value ...").type("KEY=VALUE");
  command.option("-o,--out", common.out, "where results would go").type("DIR").shows_default();
  command.option("-j,--jobs", common.jobs, "worker processes").integer_in(1, 4096).type("N");
  command.flag("--no-probe", *no_probe, "do not measure the time");
  add_output_options(command, common);
  command.run([&common, no_probe] { return plan_study(common, !*no_probe); });
}

}  // namespace ffn::app
