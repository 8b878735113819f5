// ffn-train --config FILE: train one run. Finished work is recognised, half-finished work resumes.
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../load_config.hpp"
#include "../signals.hpp"
#include "ffn/config/json_writer.hpp"
#include "ffn/record/log.hpp"
#include "ffn/record/run_recorder.hpp"
#include "ffn/report/format.hpp"
#include "ffn/report/progress.hpp"
#include "ffn/report/table.hpp"
#include "ffn/report/terminal.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

namespace {

struct TrainOptions {
  std::int64_t fast_dev_run = 0;
  bool fresh = false, dry_run = false;
};

// A run's results for a person: what it reached, when, at what cost, and where everything is.
void print_summary(const RunDirectory& directory, const RunConfig& config, const RunSummary& summary, const CommonOptions& common) {
  if (common.json) {
    Json out = summary_json(summary);
    out["directory"] = directory.path().string();
    std::cout << out.dump(2) << "\n";
    return;
  }
  Table table({{"metric", Align::left}, {"final", Align::right}, {"best", Align::right}, {"at step", Align::right}});
  for (const auto& m : summary.metrics) {
    table.add_row({m.name, format_significant(m.final_value, 4), m.best ? format_significant(m.best->value, 4) : "-",
                   m.best ? format_count(m.best->step) : "-"});
  }
  std::cout << table.terminal_text(color_enabled(color_mode(common), 1));
  std::cout << "\n" << format_count(summary.cost.parameters) << " parameters, " << format_count(summary.steps) << " steps in "
            << format_duration(summary.train_seconds) << "\n";
  if (config.train.target) {
    const auto& target = *config.train.target;
    const std::string goal = target.metric + (target.at_least ? " ≥ " + format_significant(*target.at_least) : " ≤ " + format_significant(*target.at_most));
    std::cout << "target " << goal << ": " << (summary.hit ? "reached at step " + format_count(summary.hit->step) : std::string("not reached")) << "\n";
  }
  if (summary.divergence) std::cout << "diverged at step " << summary.divergence->step << "; a lower train.optimizer.lr or train.clip_norm=1 may help\n";
  std::cout << "results: " << directory.path().string() << "\n";
  if (std::holds_alternative<TextConfig>(config.task)) std::cout << "next: ffn-train sample " << directory.path().string() << " --prompt \"The \"\n";
}

int exit_code(RunEnd end) {
  return static_cast<int>(end == RunEnd::done ? ExitCode::done : end == RunEnd::diverged ? ExitCode::run_failed : ExitCode::interrupted);
}

// Results of another config, or those that --fresh refuses to reuse, step aside; nothing is deleted.
void move_aside(const fs::path& path, const std::string& why) {
  int n = 1;
  while (fs::exists(path.string() + ".old-" + std::to_string(n))) ++n;
  const fs::path aside = path.string() + ".old-" + std::to_string(n);
  fs::rename(path, aside);
  log_info(why + "; moved to " + aside.string());
}

// Steps, loss and the end of a run that leaves nothing behind.
class Dummy final : public TrainObserver {
 public:
  explicit Dummy(ProgressBar& bar) : bar_(bar) {}
  void evaluated(std::size_t, const Evaluation& e) override { last_ = e; }
  void stepped(std::int64_t step, double loss) override { bar_.update(step, loss); }
  void checkpointed(std::size_t, const Checkpoint&) override {}
  void finished(std::size_t, const RunResult& result) override { end_ = result.end; }
  bool stop_requested() override { return app::stop_requested(); }

  Evaluation last_;
  RunEnd end_ = RunEnd::done;

 private:
  ProgressBar& bar_;
};

ProgressOptions progress_options(const RunConfig& config, const CommonOptions& common) {
  ProgressOptions options;
  options.label = config.name + " seed " + std::to_string(config.seed);
  options.total = config.train.steps;
  options.animate = common.verbosity >= 0 && animation_enabled(2);
  if (common.verbosity < 0) options.line_every_s = 1e300;
  return options;
}

int fast_dev_run(RunConfig config, std::int64_t steps, const CommonOptions& common) {
  config.train.steps = std::min(config.train.steps, steps);
  config.train.eval_every = std::min(config.train.eval_every, steps);
  ProgressBar bar(progress_options(config, common));
  Dummy observer(bar);
  load_engine().train({{config}, {}}, observer);
  bar.finish();
  Json out = {{"steps", observer.last_.step}, {"kept", false}};
  for (const auto& [name, value] : observer.last_.metrics) out[name] = std::isfinite(value) ? Json(value) : Json(std::to_string(value));
  if (common.json) std::cout << out.dump(2) << "\n";
  else std::cout << config.name << ": " << observer.last_.step << " steps ran, val/loss " << format_significant(out.value("val/loss", NAN), 4) << "; nothing was kept\n";
  return exit_code(observer.end_);
}

int train_one(const RunConfig& config, const TrainOptions& options, const CommonOptions& common) {
  task_shape(config.task);  // a missing text is an error before anything is written
  const RunDirectory directory(single_run_path(common.out, config.name, config.seed));
  const std::string identity = run_identity(config);
  std::optional<Checkpoint> checkpoint;
  if (const auto status = read_status(directory.path())) {
    if (options.fresh) move_aside(directory.path(), "--fresh: earlier results stay out of the way");
    else if (status->identity != identity) move_aside(directory.path(), directory.path().string() + " held a run of another config");
    else if (const auto summary = read_summary(directory.path()); summary && (status->state == RunState::done || status->state == RunState::diverged)) {
      log_info("already trained; --fresh trains again");
      print_summary(directory, config, *summary, common);
      return exit_code(summary->end);
    } else {
      checkpoint = directory.read_checkpoint(identity);
    }
  }

  Engine& engine = load_engine();
  RecordedRun run{directory, config, identity, std::nullopt};
  if (checkpoint) {
    run.resumed_at = checkpoint->step;
    log_info("resuming at step " + format_count(checkpoint->step));
  }
  ProgressBar bar(progress_options(config, common));
  ProgressObserver progress(bar);
  RunRecorder recorder({run}, common.argv, engine.info());
  recorder.forward_to(&progress);
  recorder.stop_when(stop_requested);
  const LogFile log_file(directory.log_path());
  LogOptions log_options{common.verbosity, color_enabled(color_mode(common), 2), nullptr, [&bar] { bar.clear(); }};
  set_up_log(log_options);
  engine.set_log(write_log);
  try {
    engine.train({{config}, {checkpoint}}, recorder);
  } catch (const std::exception& error) {
    recorder.fail_unfinished(error.what());
    throw;
  }
  bar.finish();
  log_options.before_line = {};
  set_up_log(log_options);
  if (const auto& summary = recorder.summary(0)) {
    print_summary(directory, config, *summary, common);
    return exit_code(summary->end);
  }
  log_info("interrupted; the same command resumes");
  return static_cast<int>(ExitCode::interrupted);
}

}  // namespace

void add_train(CLI::App& app, CommonOptions& common, Command& command) {
  auto options = std::make_shared<TrainOptions>();
  auto* config = app.add_option("--config", common.config, "config file, or the name of a shipped one")->type_name("FILE");
  app.add_option("overrides", common.overrides, "changes to the config, for example train.steps=500")->type_name("KEY=VALUE");
  app.add_option("-o,--out", common.out, "where results go")->type_name("DIR")->capture_default_str();
  app.add_option("--fast-dev-run", options->fast_dev_run, "train N steps (10 without a number) and keep nothing")->expected(0, 1)->default_str("10")->type_name("N");
  app.add_flag("--fresh", options->fresh, "train again even if results are there; they are moved aside");
  app.add_flag("--dry-run", options->dry_run, "print the resolved config and stop");
  add_output_options(app, common);
  app.callback([&app, &common, &command, options, config] {
    if (!app.get_subcommands().empty()) return;
    if (config->count() == 0) {
      if (common.overrides.empty()) return;
      throw UsageError("nothing to do with '" + common.overrides[0] + "'", "give a config: ffn-train --config " + (fs::exists(common.overrides[0]) ? common.overrides[0] : "configs/xor.json"));
    }
    command = [&common, options] {
      set_up_log({common.verbosity, color_enabled(color_mode(common), 2), nullptr, {}});
      const auto run = read_run_config(load_with_overrides(common.config, common.overrides), common.config);
      if (options->dry_run) return std::cout << resolved_json(run).dump(2) << "\n", 0;
      handle_stop_signals();
      return options->fast_dev_run > 0 ? fast_dev_run(run, options->fast_dev_run, common) : train_one(run, *options, common);
    };
  });
}

}  // namespace ffn::app
