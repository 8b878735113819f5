#include "commands.hpp"

namespace ffn::app {

ColorMode color_mode(const CommonOptions& common) {
  return common.color == "always" ? ColorMode::always : common.color == "never" ? ColorMode::never : ColorMode::automatic;
}

void add_output_options(CommandLine command, CommonOptions& common) {
  command.flag("--json", common.json, "one JSON document on stdout");
  command.flag(
      "-v,--verbose", [&common](std::int64_t n) { common.verbosity += static_cast<int>(n); }, "say more");
  command.flag(
      "-q,--quiet", [&common](std::int64_t n) { common.verbosity -= static_cast<int>(n); }, "say less: results and warnings only");
  command.option("--color", common.color, "auto, always or never (NO_COLOR also counts)")
      .type("WHEN")
      .one_of({"auto", "always", "never"}, /*listed_in_help=*/false);
}

void add_compute_options(CommandLine command, CommonOptions& common) {
  command.option("--engine", common.engine, "what trains: auto, fused or libtorch").type("NAME").one_of({"auto", "fused", "libtorch"}, false);
  command.option("--device", common.device, "cpu, cuda or cuda:N").type("NAME");
}

std::vector<std::string> all_overrides(const CommonOptions& common) {
  auto overrides = common.overrides;
  if (!common.engine.empty()) overrides.push_back("compute.engine=" + common.engine);
  if (!common.device.empty()) overrides.push_back("compute.device=" + common.device);
  return overrides;
}

void add_commands(CommandLine program, CommonOptions& common) {
  add_train(program, common);
  add_compare(program, common);
  add_check(program, common);
  add_plan(program, common);
  add_validate(program, common);
  add_params(program, common);
  add_list(program, common);
  add_schema(program, common);
  add_bench(program, common);
  add_sample(program, common);
  add_verify(program, common);
}

}  // namespace ffn::app
