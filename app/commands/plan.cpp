// ffn-train plan: what would run, what it costs, and what it could show. Trains nothing but a short probe.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "../budget.hpp"
#include "../load_config.hpp"
#include "../plan_estimate.hpp"
#include "../train.hpp"
#include "ffn/compare/notes.hpp"
#include "ffn/config/search_config.hpp"
#include "ffn/report/format.hpp"
#include "ffn/stats/permutation.hpp"
#include "ffn/stats/power.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_directory.hpp"
#include "ffn/study/compare_plan.hpp"
#include "ffn/study/sequential_design.hpp"
#include "ffn/study/tuning.hpp"
#include "ffn/train/memory.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// Why a start would be refused.
std::optional<UsageError> refusal_of(const Study& study, const Plan& plan, bool single, const CommonOptions& common) {
  try {
    const auto found = progress_of(plan.runs);
    if (std::any_of(found.begin(), found.end(), [](Progress progress) { return progress != Progress::finished; })) {
      for (const auto& variant : plan.study.variants) require_memory(variant.config);
    }
    if (!single) record_to_go_on(study, common.out);
  } catch (const UsageError& error) {
    return error;
  }
  return std::nullopt;
}

std::string tuning_line(const Study& study, const PlanEstimate& e) {
  const auto& tune = *study.tune;
  const std::size_t tuned = study.variants.size() / tuning_stride(study);
  const std::size_t once = tuned * tune.num_points() * (tune.per_seed ? 5 : tune.seeds);
  const std::size_t per_seed = tuned * tune.num_points() * study.seeds.size() * (tune.per_seed ? tune.seeds : 1);
  return "tuned before: " + format_counted(e.tuning_runs, "run") + ", " + format_count(static_cast<std::int64_t>(e.tuning_pending)) +
         " to train (" + std::to_string(tune.num_points()) + " grid points for each variant and seed; " +
         (tune.per_seed ? "retune once, with 5 seeds: " + format_counted(once, "run")
                        : "retune per_seed, with 1 seed each: " + format_counted(per_seed, "run")) +
         "); a grid is extended, at most twice, if the choice is at its end\n";
}

/// The power of the study's seeds.
struct Power {
  std::size_t seeds, comparisons;
  double alpha;
  std::size_t needed;  ///< for any verdict at that alpha; none are enough for too many comparisons
  double detectable;   ///< in standard deviations of the paired differences; NaN for one seed
  bool splits_rows;    ///< seeds split the same rows of a table
};

// Comparisons: as `compare` will make them.
Power power_of(const Study& study, std::size_t num_comparisons) {
  const auto seeds = study.seeds.size();
  const auto alpha = study.config.compare.alpha;
  const std::size_t comparisons = std::max<std::size_t>(1, num_comparisons);
  const bool judged = comparisons <= stats::most_comparisons(alpha);
  double ratio = 0;
  for (const auto& variant : study.variants) {
    if (const auto* table = std::get_if<TableConfig>(&variant.config.task)) ratio = std::max(ratio, table->held_out_per_training());
  }
  const double level = alpha / static_cast<double>(comparisons);
  return {seeds,
          comparisons,
          alpha,
          judged ? stats::seeds_for_any_verdict(alpha, comparisons) : SIZE_MAX,
          seeds >= 2 ? stats::smallest_detectable_difference(seeds, 1.0, level, stats::kDefaultPower, ratio) : NAN,
          ratio > 0};
}

Json plan_json(const Study& study, const PlanEstimate& e, const Power& power) {
  Json variants = Json::array(), engines = Json::array();
  for (const auto& line : e.lines) {
    variants.push_back({{"name", line.variant->name},
                        {"label", line.variant->shown()},
                        {"runs", line.runs},
                        {"finished", line.finished},
                        {"parameters", line.cost.total.parameters},
                        {"active_parameters", line.cost.total.active_parameters},
                        {"flops_per_token", line.cost.total.flops}});
    if (const auto mismatch = mismatch_of(*line.variant)) variants.back()["mismatch"] = *mismatch;
    if (const auto& model = line.variant->config.model; model.written) variants.back()["d_model"] = model.d_model;
  }
  for (const auto& share : engine_shares(study))
    engines.push_back({{"engine", share.engine}, {"device", share.device}, {"reason", share.reason}, {"runs", share.runs}});
  Json sequential = nullptr;
  if (study.sequential_seeds) {
    const auto& [min, max] = std::pair(study.seeds.size(), study.sequential_seeds->max);
    sequential = {
        {"min_seeds", min}, {"max_seeds", max}, {"min_runs", min * study.variants.size()}, {"max_runs", max * study.variants.size()}};
  }
  return {{"name", study.name},
          {"runs", e.runs},
          {"pending", e.pending},
          {"cohorts", e.cohorts},
          {"seeds", power.seeds},
          {"variants", variants},
          {"train_flops", e.flops},
          {"disk_bytes", e.bytes},
          {"jobs", e.jobs},
          {"engines", engines},
          {"tuning_runs", e.tuning_runs},
          {"tuning_pending", e.tuning_pending},
          {"refused", e.refusal ? Json(e.refusal->what()) : Json(nullptr)},
          {"seconds", e.seconds ? Json(*e.seconds) : Json(nullptr)},
          {"evaluation_seconds", e.seconds ? Json(e.evaluation_seconds) : Json(nullptr)},
          {"peak_bytes", e.peak_bytes > 0 ? Json(e.peak_bytes) : Json(nullptr)},
          {"until_settled", sequential},
          {"smallest_detectable_difference_sd",
           !study.sequential_seeds && power.seeds >= power.needed ? Json(power.detectable) : Json(nullptr)}};
}

std::string ffn_width(const RunConfig& config) {
  const FfnSize* size = size_of(config.model.ffn);
  return size && config.model.block_expansion->empty() ? format_count(size->hidden_width(config.model.d_model))
                                                       : config.model.widths_text();
}

Table variants_table(const std::vector<PlanLine>& lines) {
  if (lines[0].variant->config.command) {
    Table table({{"variant", Align::left}, {"runs", Align::right}, {"finished", Align::right}});
    for (const auto& line : lines) table.add_row({line.variant->shown(), std::to_string(line.runs), std::to_string(line.finished)});
    return table;
  }
  const bool matched = std::any_of(lines.begin(), lines.end(), [](const PlanLine& line) { return mismatch_of(*line.variant).has_value(); });
  const bool solved =
      std::any_of(lines.begin(), lines.end(), [](const PlanLine& line) { return line.variant->config.model.written.has_value(); });
  std::vector<Column> columns = {{"variant", Align::left},     {"runs", Align::right},      {"finished", Align::right},
                                 {"parameters", Align::right}, {"ffn width", Align::right}, {"FLOPs/token", Align::right}};
  if (solved) columns.insert(columns.begin() + 4, {"d_model", Align::right});
  if (matched) columns.push_back({"mismatch", Align::right});
  Table table(columns);
  for (const auto& line : lines) {
    std::vector<std::string> row = {line.variant->shown(),
                                    format_count(static_cast<std::int64_t>(line.runs)),
                                    format_count(static_cast<std::int64_t>(line.finished)),
                                    format_count(line.cost.total.parameters),
                                    ffn_width(line.variant->config),
                                    format_count(line.cost.total.flops)};
    if (solved) row.insert(row.begin() + 4, format_count(line.variant->config.model.d_model));
    const auto mismatch = mismatch_of(*line.variant);
    if (matched) row.push_back(mismatch ? (*mismatch > 0 ? "+" : "") + format_percent(*mismatch, 2) : "-");
    table.add_row(row);
  }
  return table;
}

/// Batch, steps and rate of each size of a ladder, by its first variant.
Table sizes_table(const Study& study, const std::vector<PlanLine>& lines) {
  const LadderConfig& ladder = *study.config.ladder;
  const auto is_rate_axis = [](const TuningAxis& axis) { return is_rate(axis.key); };
  const bool is_tuned = study.tune && std::any_of(study.tune->axes.begin(), study.tune->axes.end(), is_rate_axis);
  Table table({{ladder.key, Align::right},
               {"batch", Align::right},
               {"steps", Align::right},
               {"lr", Align::right},
               {"training FLOPs of a run", Align::right},
               {"", Align::left}});
  const auto sizes = ladder.all_sizes();
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const RunConfig& config = lines.at(k).variant->config;
    table.add_row({dump_json(*sizes[k]), format_count(config.train.batch_size), format_count(config.train.steps),
                   is_tuned ? "tuned" : number_text(resolved_json(config)["train"]["optimizer"]["lr"].get<double>()),
                   format_short(lines[k].flops), k < ladder.values->size() ? "" : "held out"});
  }
  return table;
}

// The lines above end at the first interim analysis; this one at the last.
void print_sequential(const Study& study, const PlanEstimate& e) {
  const std::size_t max = study.sequential_seeds->max, variants = study.variants.size();
  const std::size_t most_pending = max * variants - (e.runs - e.pending);
  std::string text = "that is up to the first interim analysis; until decided: " + std::to_string(study.seeds.size()) + " to " +
                     std::to_string(max) + " seeds, " + format_count(static_cast<std::int64_t>(study.seeds.size() * variants)) + " to " +
                     format_counted(max * variants, "run");
  if (e.seconds && e.pending > 0)
    text += ", at most about " + format_duration(*e.seconds * static_cast<double>(most_pending) / static_cast<double>(e.pending));
  print_text(text);
  if (study.config.compare.min_effect == 0)
    print_text(
        "without compare.min_effect, variants that do not differ take all of them; the smallest difference that matters lets them end");
}

std::string power_text(const Power& power) {
  std::ostringstream percent;
  percent << 100 * power.alpha;
  const std::string at = " at " + percent.str() + " %";
  if (power.needed == SIZE_MAX)
    return std::to_string(power.comparisons) + " comparisons are more than can be judged" + at + "; at most " +
           std::to_string(stats::most_comparisons(power.alpha));
  if (power.seeds < power.needed)
    return std::to_string(power.seeds) + (power.seeds == 1 ? " seed allows" : " seeds allow") + " no verdict" + at + " over " +
           std::to_string(power.comparisons) + (power.comparisons == 1 ? " comparison; at least " : " comparisons; at least ") +
           std::to_string(power.needed) + " are needed";
  return std::to_string(power.seeds) + " seeds detect a difference of " + format_significant(power.detectable, 2) +
         " standard deviations of the paired differences (" + std::to_string(power.comparisons) +
         (power.comparisons == 1 ? " comparison" : " comparisons") + at + " together, power 80 %)" +
         (power.splits_rows ? std::string("; they split the same rows: ") + TableConfig::kSeedsHelp : "");
}

// All but the table, which stands above.
void print_plan(const Study& study, const PlanEstimate& e, const Power& power) {
  const bool stops = std::any_of(study.variants.begin(), study.variants.end(),
                                 [](const Variant& v) { return v.config.train.target && v.config.train.target->stop; });
  print_text("\n" + format_counted(e.runs, "run") + ", " + format_count(static_cast<std::int64_t>(e.pending)) + " to train in " +
             format_counted(e.cohorts, "cohort") + " on " + format_counted(e.workers, "worker") +
             (e.flops > 0 ? (stops ? "; at most " : "; ") + format_short(e.flops) + " training FLOPs" : "") + "; " + format_bytes(e.bytes) +
             " on disk" + (study.tune ? ", tuning included" : ""));
  if (study.tune) {
    print_text(tuning_line(study, e));
    const std::size_t judging_seeds = study.sequential_seeds ? study.sequential_seeds->max : study.seeds.size();
    if (const auto caution = caution_about_one_choice(study.tune->seeds, judging_seeds, study.config.compare.min_effect);
        !caution.empty() && !study.tune->per_seed && study.variants.size() > 1)
      print_text("note: " + caution);
  }
  for (const auto& share : engine_shares(study)) print_text(engine_line(share));
  if (e.seconds && e.pending + e.tuning_pending > 0) {
    std::string text = "from a short probe of each cohort: about " + format_duration(*e.seconds);
    if (*e.seconds > 0)
      text += ", " + format_share(e.evaluation_seconds / *e.seconds) + " of it for evaluations (train.eval_every, train.eval_examples)";
    if (e.peak_bytes > 0) text += ", and " + format_bytes(e.peak_bytes) + " of memory" + (e.workers > 1 ? " for each worker" : "");
    print_text(text);
  }
  if (!e.few_workers.empty()) print_text(e.few_workers);
  if (study.sequential_seeds) return print_sequential(study, e);
  if (study.variants.size() > 1) print_text(power_text(power));
}

// As "seeds" of a study, which keeps the place of a wrong seed.
Json seed_of(const Json& run) { return run.contains("seed") && run["seed"].is_number_unsigned() ? Json::array({run["seed"]}) : Json(1); }

int plan_study(const CommonOptions& common, bool probe, const std::string& budget) {
  set_up_log(log_options(common));
  auto document = load_with_overrides(common.config, all_overrides(common));
  if (is_search(document)) return plan_search(document, common.config, probe, common);
  const bool single = !is_study(document);
  const double seconds = budget.empty() ? 0 : budget_seconds(budget);
  if (single) document.tree()["seeds"] = seed_of(document.tree());
  auto study = read_study(document, common.config);
  const std::string kept = budget.empty() || single ? "" : keeps_seeds(document, study.name, common);
  take_first_seeds(study);
  warn_of_few_inputs(study);
  const std::size_t comparisons = single ? 0 : check_study(study, common.config, common.overrides.empty());
  log_data_and_optimizer(study);
  std::optional<TuningProgress> tuning;
  if (study.tune) tuning = tuning_progress(study, common.out);
  const fs::path directory = fs::path(common.out) / study.name;
  Plan plan = make_plan(tuning ? tuning->chosen : study, directory);
  if (single) plan.runs[0].directory = directory / run_directory_name(plan.runs[0].config.seed, plan.runs[0].identity);
  const auto few_workers = few_workers_line(common, plan.study);  // before a probe takes memory
  PlanEstimate found = counted(plan, job_count(common.jobs, plan.study));
  if (found.cohorts > found.jobs) found.few_workers = few_workers;
  if (!common.json) {  // before the probe, which may take a while
    print_table(variants_table(found.lines), common);
    if (study.config.ladder && !has_command(document)) {
      std::cout << "\n";
      print_table(sizes_table(study, found.lines), common);
    }
    std::cout.flush();
  }
  log_shorter_runs(found.shorter_runs);
  probe = probe && !has_command(document);
  if (probe) measure(plan, found);
  if (tuning) add_tuning(tuning->plan, probe, found);
  found.refusal = refusal_of(study, plan, single, common);
  const Study& shown = tuning ? tuning->study : plan.study;
  const Power power = power_of(shown, comparisons);
  std::optional<AffordableSeeds> affordable;
  if (!budget.empty() && kept.empty()) affordable = affordable_seeds(document, study, seconds, common);
  if (common.json) {
    Json json = plan_json(shown, found, power);
    if (affordable)
      json["budget"] = {{"seconds", affordable->budget}, {"seeds", affordable->seeds}, {"estimated_seconds", affordable->seconds}};
    print_json(json);
  } else {
    print_plan(shown, found, power);
    if (affordable) print_text(affordable_text(*affordable, study));
    if (!kept.empty()) print_text(kept);
  }
  if (found.refusal) log_warning(std::string("starting it is refused: ") + found.refusal->what() + "\n" + found.refusal->hint());
  return 0;
}

}  // namespace

void add_plan(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("plan", "estimate runs, FLOPs, time, memory and disk; trains only a short probe");
  auto no_probe = std::make_shared<bool>(false);
  auto budget = std::make_shared<std::string>();
  add_config_options(command, common);
  command.option("-o,--out", common.out, "where results would go").type("DIR").shows_default().directory();
  command.option("-j,--jobs", common.jobs, "worker processes").integer_in(1, 4096).type("N");
  const auto unmeasured = command.flag("--no-probe", *no_probe, "do not measure the time");
  command.option("--budget", *budget, "what affordable into this time, as in 90s, 30m or 2h30m").type("TIME").excludes(unmeasured);
  add_compute_options(command, common);
  add_output_options(command, common);
  command.run([&common, no_probe, budget] {
    require_config(common);
    return plan_study(common, !*no_probe, *budget);
  });
}

}  // namespace ffn::app
