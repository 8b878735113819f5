// ffn-train CONFIG: train what the file describes, one run or a whole study.
#include "../train.hpp"

#include <iostream>
#include <nlohmann/json.hpp>

#include "../budget.hpp"
#include "../load_config.hpp"
#include "../signals.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/search_config.hpp"
#include "ffn/store/lock_file.hpp"
#include "ffn/store/log.hpp"
#include "ffn/study/shard.hpp"

namespace ffn::app {

namespace {

// A few steps of every variant.
int fast_dev_runs(const Study& study, std::int64_t steps, const CommonOptions& common) {
  int worst = 0;
  for (auto variant : study.variants) {
    variant.config.name = variant.name;
    worst = std::max(worst, fast_dev_run(variant.config, steps, common));
  }
  return worst;
}

int dry_run(const Json& config) {
  print_json(config);
  return 0;
}

int train(const TrainOptions& options, const CommonOptions& common) {
  auto document = load_with_overrides(common.config, all_overrides(common));
  handle_stop_signals();
  if (!options.budget.empty() && !is_search(document)) document = within_budget(std::move(document), options.budget, options, common);
  log_debug("config: " + resolve_config(common.config) + (common.overrides.empty() ? "" : " with " + join(common.overrides, " ")));
  if (is_search(document)) return train_search(document, common.config, options, common);
  if (is_study(document)) {
    const auto study = read_study(document, common.config);
    if (options.dry_run) return dry_run(*study.document);
    if (options.fast_dev_run > 0) return fast_dev_runs(study, options.fast_dev_run, common);
    return train_study(study, common.config, options, common);
  }
  if (!options.shard.empty()) throw UsageError("--shard divides a study, and " + common.config + " is a single run", "leave --shard out");
  const auto run = read_run_config(document, common.config);
  if (options.dry_run) return dry_run(resolved_json(run));
  return options.fast_dev_run > 0 ? fast_dev_run(run, options.fast_dev_run, common) : train_run(run, options, common);
}

// The program's name alone asks for help.
int without_config(const CommandLine& program, bool alone) {
  if (!alone)
    throw UsageError("no config to change",
                     "name one first: ffn-train xor key=value; `ffn-train list configs` shows those that are shipped");
  std::cout << program.help();
  return 0;
}

}  // namespace

void add_train(CommandLine program, CommonOptions& common) {
  auto options = std::make_shared<TrainOptions>();
  const auto config = add_config_options(program, common);
  program.option("-o,--out", common.out, "where results go").type("DIR").shows_default().directory();
  program.option(kFastDevRun, options->fast_dev_run, "train N steps (10 without a number) and keep nothing").integer_in(1).type("N");
  const auto shard = program.option("--shard", options->shard, "train part I of N of a study, seed by seed").type("I/N");
  program.option("--budget", options->budget, "train as many seeds of a study as fit into this time, as in 90s, 30m or 2h30m")
      .type("TIME")
      .excludes(shard);
  program.flag("--fresh", options->fresh, "train again even if results are there; they are moved aside").excludes(shard);
  program.option("-j,--jobs", common.jobs, "worker processes; one per core otherwise").integer_in(1, 4096).type("N");
  program.flag("--fail-fast", options->fail_fast, "stop a study at the first failed run");
  program.flag("--dry-run", options->dry_run, "print the resolved config and stop");
  add_compute_options(program, common);
  add_output_options(program, common);
  program.run([program, &common, options, config] {
    const bool alone = !config.given() && common.overrides.empty();
    if (!alone) parse_config(common);
    return config.given() || !common.config.empty() ? train(*options, common) : without_config(program, alone);
  });
}

}  // namespace ffn::app
