// ffn-train --config FILE: train what the file describes, one run or a whole study.
#include "../train.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../load_config.hpp"
#include "../signals.hpp"
#include "ffn/record/log.hpp"

namespace ffn::app {
namespace fs = std::filesystem;

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

}  // namespace

void add_train(CLI::App& app, CommonOptions& common, Command& command) {
  auto options = std::make_shared<TrainOptions>();
  auto* config = app.add_option("--config", common.config, "config file, or the name of a shipped one")->type_name("FILE");
  app.add_option("overrides", common.overrides, "changes to the config, for example train.steps=500")->type_name("KEY=VALUE");
  app.add_option("-o,--out", common.out, "where results go")->type_name("DIR")->capture_default_str();
  app.add_option("--fast-dev-run", options->fast_dev_run, "train N steps (10 without a number) and keep nothing")
      ->expected(0, 1)
      ->default_str("10")
      ->type_name("N");
  app.add_flag("--fresh", options->fresh, "train again even if results are there; they are moved aside");
  app.add_option("-j,--jobs", common.jobs, "worker processes; one per core otherwise")->check(CLI::Range(1, 4096))->type_name("N");
  app.add_flag("--fail-fast", options->fail_fast, "stop a study at the first failed run");
  app.add_flag("--dry-run", options->dry_run, "print the resolved config and stop");
  add_output_options(app, common);
  app.callback([&app, &common, &command, options, config] {
    if (!app.get_subcommands().empty()) return;
    if (config->count() == 0) {
      if (common.overrides.empty()) return;
      throw UsageError("nothing to do with '" + common.overrides[0] + "'",
                       "give a config: ffn-train --config " + (fs::exists(common.overrides[0]) ? common.overrides[0] : "configs/xor.json"));
    }
    command = [&common, options] {
      set_up_log({common.verbosity, color_enabled(color_mode(common), 2), nullptr, {}});
      const auto document = load_with_overrides(common.config, common.overrides);
      handle_stop_signals();
      if (is_study(document)) {
        const auto study = read_study(document, common.config);
        if (options->dry_run) return std::cout << study.document.dump(2) << "\n", 0;
        if (options->fast_dev_run > 0) return fast_dev_runs(study, options->fast_dev_run, common);
        return train_study(study, common.config, *options, common);
      }
      const auto run = read_run_config(document, common.config);
      if (options->dry_run) return std::cout << resolved_json(run).dump(2) << "\n", 0;
      return options->fast_dev_run > 0 ? fast_dev_run(run, options->fast_dev_run, common) : train_run(run, *options, common);
    };
  });
}

}  // namespace ffn::app
