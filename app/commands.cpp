#include "commands.hpp"

#include <filesystem>
#include <iostream>
#include <new>
#include <nlohmann/json.hpp>

namespace ffn::app {

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return SystemError("not enough memory", "a smaller batch_size, d_model or d_ff needs less");
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = error.path1().string();
    return SystemError((path.empty() ? "the file system refuses" : path) + ": " + error.code().message());
  } catch (const std::ios_base::failure&) {
    return SystemError("cannot write to stdout");  // nor before: the reason went with the first write
  } catch (const std::exception& error) {
    return SystemError(error.what(), "this is a bug in ffn-train; please report it with the command you ran");
  }
}

int report_error(const Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  if (!error.hint().empty()) std::cerr << "hint: " << error.hint() << "\n";
  return static_cast<int>(error.code());
}

void print_json(const Json& json) { std::cout << dump_json_lossy(json, 2) << "\n"; }

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
  command.option("--engine", common.engine, "what trains: auto, fused or libtorch")
      .type("NAME")
      .one_of({"auto", "fused", "libtorch"}, false);
  command.option("--device", common.device, "cpu, cuda or cuda:N").type("NAME");
}

std::vector<std::string> all_overrides(const CommonOptions& common) {
  auto overrides = common.overrides;
  // In quotes: an override's comma would make a sweep, and an option names one.
  if (common.engine) overrides.push_back("compute.engine=" + dump_json_lossy(*common.engine));
  if (common.device) overrides.push_back("compute.device=" + dump_json_lossy(*common.device));
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
  add_merge(program, common);
  add_slurm(program, common);
}

}  // namespace ffn::app
