// ffn-train validate: check configs without LibTorch, all errors at once; --dry-run prints what would run.
#include <iostream>
#include <nlohmann/json.hpp>

#include "../commands.hpp"
#include "../load_config.hpp"
#include "../train.hpp"
#include "ffn/base/text.hpp"
#include "ffn/config/search_config.hpp"
#include "ffn/config/study_config.hpp"
#include "ffn/data/task.hpp"
#include "ffn/study/compare_plan.hpp"

namespace ffn::app {

namespace {

// Throws what is wrong. Reads a text task's file too: its absence is found here.
void check_file(const std::string& file, const std::vector<std::string>& overrides) {
  const Document document = load_with_overrides(file, overrides);
  if (is_search(document)) {
    check_search(document, file);
  } else if (is_study(document)) {
    const auto study = read_study(document, file);
    warn_of_few_inputs(study);
    check_study(study, file, overrides.empty());
  } else {
    const auto config = read_run_config(document, file);
    task_shape(config.task);
    warn_of_few_inputs({&config});
  }
}

// One file's entry in the report; what is wrong is said on stderr unless the whole is to be JSON.
Json validation_entry(const std::string& file, const std::vector<std::string>& overrides, bool quiet, int& worst) {
  Json entry = {{"file", file}, {"ok", true}, {"problems", Json::array()}};
  try {
    check_file(file, overrides);
    if (!quiet) std::cout << printable(file) << ": ok\n";
  } catch (const ConfigError& error) {
    entry["ok"] = false;
    for (const auto& p : error.problems())
      entry["problems"].push_back({{"place", p.place}, {"pointer", p.pointer}, {"message", p.message}});
    if (!quiet) std::cerr << "error: " << error.what() << "\n";
    worst = std::max(worst, static_cast<int>(error.code()));
  } catch (...) {  // whatever it is, the other files are checked
    const Error error = current_error();
    entry["ok"] = false;
    entry["problems"].push_back({{"place", file}, {"pointer", ""}, {"message", error.what()}});
    worst = std::max(worst, static_cast<int>(error.code()));
    if (!quiet) report_error(Error(error.code(), file + ": " + error.what(), error.hint()));
  }
  return entry;
}

int validate(const std::vector<std::string>& files, const CommonOptions& common) {
  int worst = 0;
  Json report = Json::array();
  for (const auto& file : files) report.push_back(validation_entry(file, common.overrides, common.json, worst));
  if (common.json) print_json(report);
  return worst;
}

}  // namespace

void add_validate(CommandLine program, CommonOptions& common) {
  auto command = program.subcommand("validate", "check configs; all errors at once");
  auto files = std::make_shared<std::vector<std::string>>();
  add_configs_options(command, *files);
  add_output_options(command, common);
  command.run([&common, files] {
    require_configs(*files, common);
    return validate(*files, common);
  });
}

}  // namespace ffn::app
