// ffn-train search CONFIG: propose layers, and judge them.
#include "../load_config.hpp"
#include "../signals.hpp"
#include "../train.hpp"
#include "ffn/config/search_config.hpp"

namespace ffn::app {

void add_search(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("search", "propose layers, and judge them on fresh seeds and unseen tasks");
  auto options = std::make_shared<TrainOptions>();
  add_config_options(command, common);
  command.option("-o,--out", common.out, "where results go").type("DIR").shows_default().directory();
  command.flag("--fresh", options->fresh, "search again even if results are there; they are moved aside");
  command.option("-j,--jobs", common.jobs, "worker processes; one per core otherwise").integer_in(1, 4096).type("N");
  add_output_options(command, common);
  command.run([&common, options] {
    require_config(common);
    const auto document = load_with_overrides(common.config, all_overrides(common));
    if (!is_search(document))
      throw UsageError(common.config + " has no \"search\" section",
                       "`ffn-train list keys search` shows its keys; ffn-train " + common.config + " trains it");
    handle_stop_signals();
    return train_search(document, common.config, *options, common);
  });
}

}  // namespace ffn::app
