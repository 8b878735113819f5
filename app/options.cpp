#include "options.hpp"

#include "ffn/core/json_document.hpp"
#include "ffn/version.hpp"

namespace ffn::app {

ColorMode color_mode(const CommonOptions& common) {
  return common.color == "always" ? ColorMode::always : common.color == "never" ? ColorMode::never : ColorMode::automatic;
}

void add_output_options(CLI::App& app, CommonOptions& common) {
  app.add_flag("--json", common.json, "one JSON document on stdout");
  app.add_flag_function(
      "-v,--verbose", [&common](std::int64_t n) { common.verbosity += static_cast<int>(n); }, "say more");
  app.add_flag_function(
      "-q,--quiet", [&common](std::int64_t n) { common.verbosity -= static_cast<int>(n); }, "say less: results and warnings only");
  app.add_option("--color", common.color, "auto, always or never (NO_COLOR also counts)")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""));
}

void add_commands(CLI::App& app, CommonOptions& common, Command& command) {
  app.set_version_flag("--version", std::string("ffn-train ") + kVersion + " (" + kGitCommit + ")");
  app.set_help_flag("-h,--help", "this text");
  app.get_formatter()->column_width(34);
  app.require_subcommand(0, 1);
  add_train(app, common, command);
  add_compare(app, common, command);
  add_plan(app, common, command);
  add_validate(app, common, command);
  add_params(app, common, command);
  add_list(app, common, command);
  add_schema(app, common, command);
  add_bench(app, common, command);
  add_sample(app, common, command);
  add_verify(app, common, command);
  app.footer(
      "Examples:\n"
      "  ffn-train --config configs/xor.json\n"
      "  ffn-train --config configs/xor.json model.ffn.activation=silu train.optimizer.lr=3e-3\n"
      "  ffn-train --config configs/text.json task.file=my-notes.txt && ffn-train sample runs/text/seed-0\n"
      "  ffn-train list keys model.ffn");
}

}  // namespace ffn::app
