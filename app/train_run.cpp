// One run from the command line. Finished work is recognised, half-finished work resumes.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "ffn/base/cores.hpp"
#include "ffn/base/files.hpp"
#include "ffn/base/safetensors.hpp"
#include "ffn/base/shell.hpp"
#include "ffn/config/coverage.hpp"
#include "ffn/config/metrics.hpp"
#include "ffn/data/run_identity.hpp"
#include "ffn/data/starts.hpp"
#include "ffn/data/task.hpp"
#include "ffn/inspect/inspection.hpp"
#include "ffn/report/canvas.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/layout.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"
#include "ffn/store/cleanup.hpp"
#include "ffn/store/log.hpp"
#include "ffn/store/run_check.hpp"
#include "ffn/store/run_recorder.hpp"
#include "ffn/store/shorter_run.hpp"
#include "ffn/study/command_run.hpp"
#include "ffn/study/train_cohort.hpp"
#include "ffn/train/devices.hpp"
#include "ffn/train/engine.hpp"
#include "ffn/train/memory.hpp"
#include "inspect_text.hpp"
#include "next_command.hpp"
#include "signals.hpp"
#include "train.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

// A run's evaluations; none where they cannot be read, which is said elsewhere.
std::vector<Evaluation> evaluations_of(const RunDirectory& directory) {
  try {
    return read_metrics(directory.metrics_path());
  } catch (const Error&) {
    return {};
  }
}

// How a metric went, as a row of blocks from its least to its most: by its logarithm where it is positive and spans decades.
std::string sparkline_of(const std::vector<Evaluation>& evaluations, const std::string& metric, int columns) {
  std::vector<double> values;
  double least = INFINITY, most = -INFINITY;
  for (const auto& evaluation : evaluations) {
    for (const auto& [name, value] : evaluation.metrics) {
      if (name != metric) continue;
      values.push_back(value);
      if (std::isfinite(value)) {
        least = std::min(least, value);
        most = std::max(most, value);
      }
    }
  }
  if (values.size() < 2) return "";
  if (least > 0 && most > 20 * least) {
    for (auto& value : values) value = std::log(value);
    least = std::log(least);
    most = std::log(most);
  }
  return sparkline(values, least, most, columns);
}

// `curve_columns` 0: without curves.
Table metrics_table(const RunSummary& summary, const std::vector<Evaluation>& evaluations, int curve_columns) {
  std::vector<Column> columns = {{"metric", Align::left}, {"final", Align::right}, {"best", Align::right}, {"at step", Align::right}};
  if (curve_columns > 0) columns.push_back({"curve", Align::left});
  Table table(columns);
  for (const auto& m : summary.metrics) {
    std::vector<std::string> row = {m.name, format_significant(m.final_value, 4), m.best ? format_significant(m.best->value, 4) : "-",
                                    m.best ? format_count(m.best->step) : "-"};
    if (curve_columns > 0) row.push_back(sparkline_of(evaluations, m.name, curve_columns));
    table.add_row(row);
  }
  return table;
}

// With curves as long as there is room; where there is none, who has them.
void print_metrics(const RunDirectory& directory, const RunSummary& summary, const std::vector<Evaluation>& evaluations,
                   const CommonOptions& common) {
  constexpr int kMostColumns = 16, kLeastColumns = 6;
  const int left = terminal_width_of(1) - widest_line(metrics_table(summary, evaluations, 0).terminal_text(false)) - 2;
  const int columns = left >= kLeastColumns ? std::min(left, kMostColumns) : 0;
  print_table(metrics_table(summary, evaluations, columns), common);
  if (columns == 0)
    std::cout << sentence_and_command("curves:", "ffn-train curves " + shell_word(directory.path().string()), STDOUT_FILENO) << "\n";
}

void print_divergence(const RunConfig& config, const std::optional<Divergence>& divergence) {
  if (!divergence) return;
  const bool by_start = divergence->step == 0 && !config.model.init_from.empty();
  print_text("diverged at step " + format_count(divergence->step) + "; " +
             (by_start ? "the weights of model.init_from are too large: start from a run that ended well" : against_divergence(config)));
}

// "Learned: all 4 patterns right from step 7 on", or how far it came.
std::string outcome_sentence(const RunConfig& config, const RunSummary& summary, const std::vector<Evaluation>& evaluations) {
  const bool by_loss = writes_text(config.task) || target_of(config.task) != Target::classes;
  const std::string metric = by_loss ? metric::kValLoss.name : metric::kValAccuracy.name;
  std::optional<std::int64_t> right_since;
  for (const auto& evaluation : evaluations) {
    for (const auto& [name, value] : evaluation.metrics) {
      if (name != metric) continue;
      if (by_loss || !(value >= 1)) right_since.reset();
      else if (!right_since) right_since = evaluation.step;
    }
  }
  const auto patterns = std::holds_alternative<XorConfig>(config.task) ? distinct_inputs(config.task) : std::nullopt;
  const bool all = patterns && *patterns <= config.train.eval_examples;
  if (right_since)
    return "Learned: all " + (all ? format_count(*patterns) + " patterns" : "validation examples") + " right from step " +
           format_count(*right_since) + " on.";
  for (const auto& m : summary.metrics) {
    if (m.name == metric)
      return "After " + format_counted(static_cast<std::size_t>(summary.steps), "step") + ": " +
             (by_loss ? metric + " " + format_significant(m.final_value, 4)
                      : format_percent(m.final_value) + " of the validation set right") +
             ".";
  }
  return "";
}

// The plane of a network of two inputs, small.
void print_small_surface(const RunDirectory& directory, const RunConfig& config, const CommonOptions& common) {
  const auto weights = read_safetensors(directory.weights_path());
  inspect::TrainedNetwork network(config, weights);
  const auto surface = inspect::surface_of(config, weights, network);
  constexpr int kSmall = 24;
  if (surface && surface->kind != inspect::Surface::Kind::curve) print_surface(*surface, common, kSmall);
}

// A run's results for a person: what it reached, when, at what cost, and where everything is.
void print_summary(const RunDirectory& directory, const RunConfig& config, const RunSummary& summary, const CommonOptions& common) {
  if (common.json) {
    Json out = summary_json(summary);
    out["directory"] = directory.path().string();
    print_json(out);
    return;
  }
  const auto evaluations = evaluations_of(directory);
  print_metrics(directory, summary, evaluations, common);
  print_text("\n" + format_count(summary.cost.parameters) + " parameters, " +
             format_counted(static_cast<std::size_t>(summary.steps), "step") + " in " + format_duration(summary.train_seconds));
  if (config.train.target) {
    const auto& target = *config.train.target;
    const std::string goal =
        target.metric + (target.at_least ? " ≥ " + format_significant(*target.at_least) : " ≤ " + format_significant(*target.at_most));
    print_text("target " + goal + ": " + (summary.hit ? "reached at step " + format_count(summary.hit->step) : "not reached") +
               (target.stop && summary.steps < config.train.steps ? "; the run ended there (train.target.stop)" : ""));
  }
  print_divergence(config, summary.divergence);
  print_text("results: " + directory.path().string());
  if (summary.end != RunEnd::done) return;
  if (const auto said = outcome_sentence(config, summary, evaluations); !said.empty()) print_text("\n" + said);
  const bool has_inside = path_exists(directory.weights_path()) && not_covered(config.model).empty();
  if (has_inside) print_small_surface(directory, config, common);
  const std::string next = writes_text(config.task) ? "ffn-train sample " : has_inside ? "ffn-train inspect " : "ffn-train curves ";
  std::cout << sentence_and_command("next:", next + shell_word(directory.path().string()), STDOUT_FILENO) << "\n";
}

int exit_code(RunEnd end) {
  return static_cast<int>(end == RunEnd::done ? ExitCode::done : end == RunEnd::diverged ? ExitCode::run_failed : ExitCode::interrupted);
}

// Steps, loss and the end of a run that leaves nothing behind.
class Dummy final : public ProgressObserver {
 public:
  using ProgressObserver::ProgressObserver;
  void evaluated(std::size_t, const Evaluation& e) override { last_ = e; }
  void finished(std::size_t, const RunResult& result) override {
    end_ = result.end;
    divergence_ = result.divergence;
  }
  bool stop_requested() override { return app::stop_requested(); }
  bool evaluating(std::int64_t step, double share) override { return ProgressObserver::evaluating(step, share) && !app::stop_requested(); }

  Evaluation last_;
  RunEnd end_ = RunEnd::done;
  std::optional<Divergence> divergence_;
};

ProgressOptions progress_of_run(const RunConfig& config, const CommonOptions& common) {
  return progress_options(config.name + " seed " + std::to_string(config.seed), config.train.steps, common);
}

// "594 parameters"
std::string parameters_text(double parameters) { return format_count(static_cast<std::int64_t>(parameters)) + " parameters"; }

// One run has the machine to itself.
void take_all_cores() {
  training_engine().set_threads([cores = usable_cores()] { return cores; });
}

}  // namespace

void require_memory(const RunConfig& config) {
  if (config.command) return require_command(config);
  const auto shape = task_shape(config.task);
  const auto least = least_memory(config, shape);
  const char* remedy = least.weights >= least.total() / 2
                           ? "a smaller model.d_model, d_ff or num_experts, or fewer blocks, take less"
                           : "a smaller train.batch_size, a larger train.accumulate or a smaller train.eval_examples takes less";
  const auto require = [&](double bytes, double usable, const std::string& where) {
    if (bytes <= usable) return;
    throw UsageError("this config takes " + format_bytes(bytes) + " of memory" + where + " at least, and there are " +
                         format_bytes(usable) + " here: " + parameters_text(least.parameters) + " with gradient and optimizer take " +
                         format_bytes(least.weights) + ", one training step " + format_bytes(least.step) + ", the validation set " +
                         format_bytes(least.validation),
                     remedy);
  };
  if (config.compute.on_cpu()) return require(least.total(), usable_memory(), "");
  if (!visible_gpus().empty()) require(least.total(), static_cast<double>(gpu_bytes_of(config.compute.device)), " on the GPU");
  require(least_host_memory(config, shape), usable_memory(), " on the host");
}

ProgressOptions progress_options(const std::string& label, std::int64_t total, const CommonOptions& common) {
  const bool quiet = common.verbosity < 0;
  ProgressOptions options;
  options.label = label;
  options.total = total;
  options.animate = !quiet && animation_enabled(2);
  if (quiet) options.line_every_s = 1e300;
  return options;
}

int fast_dev_run(RunConfig config, std::int64_t steps, const CommonOptions& common) {
  if (config.command)
    throw UsageError(std::string(kFastDevRun) + " counts steps, and a program has none that ffn-train knows",
                     "leave it out; engine.timeout bounds the time of a run");
  require_memory(config);
  take_all_cores();
  config.train.steps = std::min(config.train.steps, steps);
  config.train.eval_every = std::min(config.train.eval_every, steps);
  ProgressBar bar(progress_of_run(config, common));
  Dummy observer(bar);
  training_engine().train({{config}, {}}, observer);
  bar.finish();
  Json out = {{"steps", observer.last_.step}, {"kept", false}};
  double loss = NAN;
  for (const auto& [name, value] : observer.last_.metrics) {
    out[name] = std::isfinite(value) ? Json(value) : Json(std::to_string(value));
    if (name == "val/loss") loss = value;
  }
  if (common.json) print_json(out);
  else {
    print_text(config.name + ": " + format_counted(static_cast<std::size_t>(observer.last_.step), "step") + " ran, val/loss " +
               format_significant(loss, 4) + "; nothing was kept");
    print_divergence(config, observer.divergence_);
  }
  return exit_code(observer.end_);
}

int train_run(RunConfig config, const TrainOptions& options, const CommonOptions& common) {
  task_shape(config.task);  // a missing text is an error before anything is written, and so is a device that is not there
  Engine& engine = training_engine();
  const std::string data = data_hash_now(config);
  Starts().take(config, data);
  const std::string identity = run_identity(config, data);
  const RunDirectory directory(fs::path(common.out) / config.name / run_directory_name(config.seed, identity));
  const std::string path = directory.path().string();
  auto check = check_run(directory, identity);
  warn_of_few_inputs({&config});
  log_data_and_optimizer({&config});
  if (check.is_whole() && !options.fresh) {
    const RunSummary& summary = *check.record->summary;
    if (!computed_as_asked(config.compute, summary.computed_by))
      throw UsageError(path + " was trained by the engine " + engine_of(summary.computed_by) + ", not by " + config.compute.engine,
                       "name=... or -o DIR keeps both; --fresh renames the earlier result");
    const std::string lacks = lacking_files(config, summary);
    log_info("already trained" + (lacks.empty() ? "" : ", but " + lacks + " not kept") + "; --fresh trains again");
    print_summary(directory, config, summary, common);
    return exit_code(summary.end);
  }
  require_memory(config);  // what cannot be had is found before anything is renamed or written
  engine.prepare(config);
  make_directories(directory.path().parent_path());
  const auto claim = claim_run(directory.path());
  if (!claim) throw Error(ExitCode::interrupted, "another process is training " + path, "wait for it, or choose another name= or -o");
  if (options.fresh && path_exists(directory.path())) log_info("earlier results renamed to " + move_aside(directory.path()).string());
  check = check_run(directory, identity);
  take_all_cores();
  const auto beside = runs_beside({directory.path()})[0];
  if (const auto shorter = find_shorter_run(directory, config, identity, beside)) log_shorter_runs({*shorter});
  auto stored = make_ready(directory, config, identity, beside, check);
  std::optional<Checkpoint> checkpoint;

  const auto info = engine.info(config);
  RecordedRun run{directory, config, identity, std::nullopt, {}};
  if (check.record) run.sessions = check.record->sessions;
  if (stored) {
    run.metrics = std::move(stored->metrics);
    checkpoint = std::move(stored->checkpoint);
    run.resumed_at = checkpoint->step;
    log_info("resuming at step " + format_count(checkpoint->step));
    if (const auto line = other_engine_line(*checkpoint, info); !line.empty()) log_warning(line);
  }
  ProgressBar bar(progress_of_run(config, common));
  ProgressObserver progress(bar);
  RunRecorder recorder({run}, common.argv, info);
  recorder.forward_to(&progress);
  recorder.stop_when(stop_requested);
  set_up_log(log_options(common.verbosity, color_enabled(color_mode(common), 2), [&bar] { bar.clear(); }));
  (info.engine == "cpu" ? log_debug : log_info)("engine: " + info.text() + " (" + info.reason + ")");  // the usual one needs no line
  try {
    engine.train({{config}, {checkpoint}}, recorder);
  } catch (const std::exception& error) {
    recorder.fail_unfinished(reason_of(error));
    throw;
  }
  bar.finish();
  set_up_log(log_options(common));
  if (const auto& summary = recorder.summary(0)) {
    print_summary(directory, config, *summary, common);
    return exit_code(summary->end);
  }
  log_info("interrupted; the same command resumes");
  return static_cast<int>(ExitCode::interrupted);
}

}  // namespace ffn::app
